/**
 * The fast lane and `node:http` answer the same bytes to the same bytes: recorded questions, questions in
 * every form that clients send, and mutated ones, many at a time and in pieces.
 *
 * The mutations come from a seed that is printed; `SOFTQUOTA_SEED` plays the same ones again.
 */

import t from 'tap';
import { isLong } from '../run-length.ts';
import { isCut, mutations } from './lane-mutations.ts';
import { clientForms, decisionCases, otherRequests, settleCases } from './lane-questions.ts';
import { compare, countHttp, openLanes, sameDeeds, whole } from './lanes.ts';

const most = isLong ? 100_000 : 5000;
const seed = Number(process.env.SOFTQUOTA_SEED ?? 14);
const atATime = 16;

t.setTimeout(isLong ? 3_600_000 : 240_000);

t.test('plain questions are answered alike, and only the reference reads them by node:http', async t => {
  const lanes = await openLanes(t, settleCases);
  const reached = countHttp(t, lanes.fast.sockets.gate);
  let decided = 0;
  for (const [index, query] of decisionCases.entries()) {
    const form = clientForms[index % clientForms.length] ?? clientForms[0];
    const received = await compare(t, lanes, whole(form(query)));
    if (/^HTTP\/1\.1 (200|413) [\s\S]*\r\nX-Softquota-Decision: /.test(received)) decided += 1;
  }
  t.equal(decided, decisionCases.length);
  t.equal(reached(), 0);
  sameDeeds(t, lanes);
});

t.test('both lanes reserve alike, and by the fast one nothing old is answered', async t => {
  for (const precise of [true, false]) {
    const lanes = await openLanes(t, settleCases, { precise });
    const reached = countHttp(t, lanes.fast.sockets.gate);
    const [form] = clientForms;
    const ask = (query: string) => compare(t, lanes, whole(form(`path=/srv/git/bob/app.git${query}`)));
    const statuses: string[] = [];
    for (const query of [
      '&size=400000000',
      '&size=400000000',
      '',
      '&size=400000000&push=a',
      '',
      '&size=400000000',
      '&size=400000000&push=a',
      '&size=400000000&push=b',
      '&size=1200000000&push=c',
      '',
      '&size=400000000',
    ]) {
      statuses.push((await ask(query)).slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length));
    }
    t.match(statuses, { 4: '200', 8: precise ? '413' : '200', 9: precise ? '200' : '413' }, `${statuses}`);
    t.equal(reached(), 0);
    sameDeeds(t, lanes);
    for (const { ledger } of [lanes.fast, lanes.reference]) {
      const held = [...ledger.reservations.ofOwner('bob').values()].map(({ bytes }) => bytes);
      t.strictSame(held, [400_000_000, 400_000_000, ...(precise ? [] : [1_200_000_000])]);
    }
  }
});

t.test('requests in any other form are answered alike, and by node:http', async t => {
  const lanes = await openLanes(t, settleCases);
  const reached = countHttp(t, lanes.fast.sockets.gate);
  for (const request of otherRequests) await compare(t, lanes, whole(request));
  t.ok(reached() > 0);
  sameDeeds(t, lanes);
});

t.test('a question is answered alike wherever it is cut in two, and whatever comes behind it', async t => {
  const lanes = await openLanes(t, settleCases);
  const [form] = clientForms;
  const question = form('path=/srv/git/alice/app.git&actor=bob');
  for (const behind of ['', question, 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n', '\r\n', 'X']) {
    const bytes = Buffer.from(question + behind, 'latin1');
    for (let at = 1; at < bytes.length; at++) {
      const pieces = [bytes.subarray(0, at), bytes.subarray(at)];
      await compare(t, lanes, { pieces, what: `cut at ${at}` });
    }
  }
  sameDeeds(t, lanes);
});

t.test(`${most} mutated batches of questions are answered alike`, async t => {
  t.comment(`SOFTQUOTA_SEED=${seed}`);
  const lanes = await openLanes(t, settleCases);
  const reached = countHttp(t, lanes.fast.sockets.gate);
  const all = mutations(seed, most);
  let cut = 0;
  await Promise.all(
    Array.from({ length: atATime }, async () => {
      for (const mutated of all) {
        if (isCut(mutated)) cut += 1;
        await compare(t, lanes, mutated);
      }
    }),
  );
  t.comment(`${reached()} requests reached node:http; ${cut} batches came in pieces`);
  t.ok(reached() > 0 && cut > 0);
  sameDeeds(t, lanes);
});
