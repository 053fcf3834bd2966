// Words are searched in segment_words.
// params: -
// returns: -
// needs: -
DROP INDEX segment_text_stemmed IF EXISTS
