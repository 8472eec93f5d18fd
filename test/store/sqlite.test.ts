import { join } from 'node:path';
import t from 'tap';
import { openStore } from '../../src/store/index.ts';
import { isLong } from '../run-length.ts';
import { storeContract } from './contract.ts';
import { recordStoreContract } from './record-store-contract.ts';

t.setTimeout(isLong ? 1_800_000 : 300_000);

let places = 0;
const directory = t.testdir();

function newPlace() {
  const file = join(directory, `${++places}.db`);
  return { open: () => openStore({ file }) };
}

t.test('the embedded store keeps the contract of every record store', async t =>
  recordStoreContract(t, newPlace),
);

t.test('the embedded store keeps what a host measured', async t => storeContract(t, newPlace));
