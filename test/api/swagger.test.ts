/** The page of the API in a checkout where nothing is built. */

import express, { type NextFunction, type Request, type Response } from 'express';
import t from 'tap';
import { swaggerPage } from '../../src/api/swagger.ts';
import { served } from '../served.ts';

t.test('a page that is not built says what builds it', async t => {
  const app = express();
  app.use(swaggerPage('/nonexistent'));
  app.use((error: Error, _request: Request, response: Response, _next: NextFunction) => {
    response.status(503).send(error.message);
  });
  const port = await served(t, app);
  const answer = await fetch(`http://127.0.0.1:${port}/api/swagger`);
  t.equal(answer.status, 503);
  t.match(await answer.text(), /npm run build/);
});
