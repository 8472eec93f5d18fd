/** Owners who are about to come: remembered so that everybody means the same one, and not without end. */

import t from 'tap';
import { Book, mostExpected } from '../../src/ledger/book.ts';

t.test('whoever meets a new owner meanwhile means the same one', async t => {
  const book = new Book(true, () => {});
  const { id } = book.newOwner('Alice', 1);
  t.equal(book.newOwner('alice', 2).id, id);
  book.open(book.newOwner('alice', 3));
  t.equal(book.account('ALICE')?.owner.id, id);
});

t.test('owners of whom nothing came in the end are forgotten, the oldest first', async t => {
  const book = new Book(true, () => {});
  const first = book.newOwner('first', 1);
  const last = book.newOwner('last', 1);
  for (let number = 0; number < mostExpected - 1; number += 1) book.newOwner(`refused ${number}`, 1);
  t.equal(book.newOwner('last', 2), last);
  t.not(book.newOwner('first', 2), first);
});
