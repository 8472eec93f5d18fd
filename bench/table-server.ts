/**
 * The server that a user would write instead of the API: Express before tables of SQLite's, with a row for
 * each thing that takes space, added up when somebody asks, as forges do.
 *
 * In: the path of its socket, and that of the database, which policy-store.ts makes.
 */

import { rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import express from 'express';

const [socket = '', file = ''] = process.argv.slice(2);
const db = new DatabaseSync(file);
db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
const count = db.prepare('SELECT count(DISTINCT owner) AS owners FROM units');
const page = db.prepare(
  'SELECT owner, sum(bytes) AS total FROM units GROUP BY owner ORDER BY total DESC, owner LIMIT 50',
);
const edit = db.prepare('UPDATE rules SET limit_bytes = ? WHERE name = ?');

const app = express();
app.get('/usage', (_request, response) => {
  response.set('X-Total-Count', String(count.get()?.owners)).json(page.all());
});
app.patch('/rules/:rule', express.json(), (request, response) => {
  edit.run(Number(request.body.limit), request.params.rule);
  response.json({ name: request.params.rule, limit: request.body.limit });
});
rmSync(socket, { force: true });
app.listen(socket);
