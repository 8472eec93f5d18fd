import { join } from 'node:path';
import t from 'tap';
import { openStore } from '../../src/store/index.ts';
import { storeContract } from './contract.ts';

t.setTimeout(300_000);

t.test('the embedded store keeps the contract of every store', async t => {
  let places = 0;
  const directory = t.testdir();
  storeContract(t, () => {
    const file = join(directory, `${++places}.db`);
    return { open: () => openStore({ adapter: 'sqlite', file }) };
  });
});
