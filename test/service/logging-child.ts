/** Logs what a test wants, in a process of its own whose standard error the test has. */

import { createLogger } from '../../src/service/index.ts';

const [level = 'info', format = 'json', task = '', count = '0'] = process.argv.slice(2);
const { log, flush } = createLogger({ level, format: format === 'pretty' ? 'pretty' : 'json' });

/** Error as libraries make it: with all that it was about. */
function telling(): Error {
  const cause = Object.assign(new Error('below', { cause: new Error('at the bottom') }), {
    options: { password: 'canary-1' },
  });
  const error = new RangeError('redis://user:canary-2@redis.example:6379/0 refused "AUTH"', { cause });
  return Object.assign(error, { code: 'ECANARY', command: { args: ['default', 'canary-3'] } });
}

switch (task) {
  case 'errors':
    log.error({ err: telling() }, 'first');
    log.error(telling());
    log.error({ reason: telling(), deep: { list: [telling()] } }, 'other names');
    log.error({ err: new AggregateError([telling()], 'many') }, 'several');
    break;
  case 'many': {
    for (let n = 1; n <= Number(count); n++) log.info({ n, filling: 'x'.repeat(1000) }, 'a line');
    let ticks = 0;
    // The loop goes on meanwhile: the test hears of it on standard output.
    setInterval(() => process.stdout.write(`${++ticks}\n`), 10).unref();
    await new Promise(resolve => process.stdin.once('data', resolve));
    log.info('one more');
  }
}
const flushed = await flush();
process.stdout.write(`${flushed}\n`);
process.exit(3);
