import t from 'tap';
import { Mounts } from '../../src/layout/index.ts';
import { rootCheck } from '../../src/scan/unit-measuring.ts';
import { until } from '../e2e/ask.ts';
import { diskThreads } from './hanging.ts';
import { Book } from './world.ts';

t.test('where no thread can be started, the roots are looked at again at the next question', async t => {
  let tries = 0;
  const fail = (): never => {
    tries += 1;
    throw new Error('there is no thread');
  };
  const check = rootCheck({
    options: new Book().options({ storages: [], cacheFile: '' }),
    context: fail,
    cacheFile: () => null,
    mounts: new Mounts(),
    threads: diskThreads(),
  });
  t.equal(await check(), null);
  await until(async () => ((await check()) === null && tries > 1 ? true : null));
});
