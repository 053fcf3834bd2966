// A database of that name, if there is none; waits until it runs. Enterprise and Aura only, in the database system.
// params: database
// returns: -
// needs: -
CREATE DATABASE $database IF NOT EXISTS WAIT
