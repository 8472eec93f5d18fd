/** Long lists as lines: as fast as they are taken, so many at a time, and no asker is waited for for ever. */

import { createServer } from 'node:http';
import { connect } from 'node:net';
import express from 'express';
import t, { type Test } from 'tap';
import { csvLine, Downloads } from '../../src/api/downloads.ts';
import { until } from '../e2e/ask.ts';
import { served } from '../served.ts';

const line = `${'x'.repeat(1023)}\n`;

/** A server of endless lines, which counts those that were asked for. */
async function endless(t: Test, most: number, quietMs = 0) {
  const downloads = new Downloads(most);
  const made = { lines: 0 };
  function* lines() {
    for (;;) {
      made.lines += 1;
      yield line;
    }
  }
  const app = express();
  app.get('/', (request, response) => downloads.send(request, response, lines()));
  app.use((_: unknown, __: unknown, response: express.Response, ___: express.NextFunction) => {
    response.status(503).end();
  });
  const server = createServer(app);
  server.timeout = quietMs;
  const port = await served(t, server);
  const ask = () => {
    const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'));
    socket.on('error', () => undefined);
    t.teardown(() => socket.destroy());
    return socket.pause();
  };
  return { downloads, made, ask, url: `http://127.0.0.1:${port}/` };
}

t.test('an asker who takes nothing is left, and makes no more than is on its way', async t => {
  const { downloads, made, ask } = await endless(t, 2, 300);
  const socket = ask();
  await until(() => (downloads.count === 1 ? true : null));
  await until(() => (downloads.count === 0 ? true : null));
  t.ok(made.lines < 20_000, `${made.lines} kB were made for nobody`);
  socket.destroy();
});

t.test('beyond so many at a time an asker is told to come again', async t => {
  const { downloads, ask, url } = await endless(t, 1);
  const socket = ask();
  await until(() => (downloads.count === 1 ? true : null));
  t.equal((await fetch(url)).status, 503);
  socket.destroy();
  await until(() => (downloads.count === 0 ? true : null));
  const response = await fetch(url);
  t.equal(response.status, 200);
  await response.body?.cancel();
});

t.test('a cell is text to a spreadsheet, whatever is in it', async t => {
  t.equal(csvLine(['plain', 12, -3, null, true]), 'plain,12,-3,,true\r\n');
  t.equal(csvLine(['a,b', 'say "x"', 'two words']), '"a,b","say ""x""","two words"\r\n');
  for (const formula of ['=1', '+1', '-1', '@x', ' =1', '|x', '%x', '＝1']) {
    const [cell = ''] = csvLine([formula]).split('\r\n');
    t.match(cell, /^"'/, JSON.stringify(formula));
  }
  t.equal(csvLine(['a\nb']).match(/\n/g)?.length, 1, 'no second line');
});
