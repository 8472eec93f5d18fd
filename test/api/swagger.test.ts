/** The page of the API in a checkout where nothing is built. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type NextFunction, type Request, type Response } from 'express';
import t from 'tap';
import { swaggerPage } from '../../src/api/swagger.ts';

t.test('a page that is not built says what builds it', async t => {
  const app = express();
  app.use(swaggerPage('/nonexistent'));
  app.use((error: Error, _request: Request, response: Response, _next: NextFunction) => {
    response.status(503).send(error.message);
  });
  const server = createServer(app).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on an address
  const answer = await fetch(`http://127.0.0.1:${port}/api/swagger`);
  t.equal(answer.status, 503);
  t.match(await answer.text(), /npm run build/);
});
