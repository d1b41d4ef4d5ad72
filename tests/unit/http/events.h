/* What servers send, for tests that write it in C. Whole cases stand in server.cases. */
#ifndef JTOK_TESTS_EVENTS_H
#define JTOK_TESTS_EVENTS_H

#define OK200       "HTTP/1.1 200 OK\r\n"
#define SSE_TYPE    "Content-Type: text/event-stream; charset=utf-8\r\n"
#define STREAM_HEAD OK200 SSE_TYPE "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
#define UNTIL_CLOSE OK200 SSE_TYPE "Connection: close\r\n\r\n"

#define EVENT(json) "data: " json "\n\n"
#define ROLE        DELTA("\"role\":\"assistant\",\"content\":\"\"")
#define TEXT(t)     DELTA("\"content\":\"" t "\"")
#define DELTA(d)    EVENT("{\"choices\":[{\"index\":0,\"delta\":{" d "},\"finish_reason\":null}]}")
#define COUNTED(t, n)                                                                                                  \
    EVENT("{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" t "\"}}],\"usage\":{\"completion_tokens\":" #n "}}")
#define FINISH           EVENT("{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}")
#define USAGE(n)         USAGE_OF("{\"prompt_tokens\":7,\"total_tokens\":9,\"completion_tokens\":" #n "}")
#define USAGE_OF(object) EVENT("{\"choices\":[],\"usage\":" object "}")
#define DONE             "data: [DONE]\n\n"
#define LAST             "0\r\n\r\n"

#endif
