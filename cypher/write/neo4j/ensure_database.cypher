// Create a database with this name if there is none, and wait until it runs. Enterprise and Aura only, in the database
// system.
// params: database
// returns: -
// needs: -
CREATE DATABASE $database IF NOT EXISTS WAIT
