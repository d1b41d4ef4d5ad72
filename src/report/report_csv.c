#include "report/report.h"

#include "schema/csv.h"

void report_csv(const struct result *r, struct buf *out)
{
    /* The decisions are the method's text, not values: `jtok method` prints them. */
    struct result without = *r;
    without.about.decision_count = 0;
    schema_csv_values_header(out);
    schema_csv_values(&result_schema, &without, "", out);
}
