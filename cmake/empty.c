/* Stands in for a folder under src/ that has no sources yet. */ typedef int jtok_empty_translation_unit;
