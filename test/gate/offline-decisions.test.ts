/** What hooks tell that they decided alone: a record of what is well-formed, and nothing else. */

import t from 'tap';
import { form, openWorld } from './world.ts';

const path = '/srv/git/alice/app.git';
const line = '2026-11-21T09:14:03Z\tlet through\tthe daemon does not answer\talice';

t.test('all lines are put on record together, with the unit that the path leads to', async t => {
  const { ask, walk, told } = await openWorld(t);
  walk(path, 'alice', 5);
  const lines = `${line}\n2026-11-21T09:15:00Z\trefused\tthe answer was 503\t\n`;
  const answer = await ask('/v1/offline-decisions', form({ path: `${path}/`, lines }));
  t.equal(answer.status, 202);
  t.strictSame(JSON.parse(answer.text), { taken: 2, not_understood: 0, passed_over: 0 });
  t.notOk('x-softquota-decision' in answer.headers);
  const at = Date.parse('2026-11-21T09:14:03Z');
  const decisions = [
    { at, allowed: true, reason: 'the daemon does not answer', actor: 'alice' },
    { at: at + 57_000, allowed: false, reason: 'the answer was 503', actor: '' },
  ];
  t.strictSame(told.offlineDecisions, [{ unit: path, decisions, notUnderstood: 0, passedOver: 0 }]);
  t.strictSame(told.refused, []);
});

t.test('a line that no hook of ours would write is passed over, and the others are taken', async t => {
  const { ask, walk, told } = await openWorld(t);
  walk(path, 'alice', 5);
  const odd = [
    'x',
    line.replace('03Z', '03+01:00'),
    line.replace('-21T', '-99T'),
    line.replace('let through', 'allowed'),
    line.replace('the daemon does not answer', ''),
    line.replace('the daemon does not answer', 'x'.repeat(81)),
    line.replace('the daemon does not answer', 'n\u00f6'),
    line.replace('alice', 'a\x1b[1m'),
    line.replace('alice', 'a'.repeat(256)),
    line.replace('alice', '..'),
    `${line}\tmore`,
    ` ${line}`,
  ];
  const answer = await ask('/v1/offline-decisions', form({ path, lines: [...odd, line].join('\n') }));
  t.equal(answer.status, 202);
  t.strictSame(JSON.parse(answer.text), { taken: 1, not_understood: odd.length, passed_over: 0 });
  t.match(told.offlineDecisions, [{ decisions: { length: 1 }, notUnderstood: odd.length }]);
});

t.test('where no unit is, or something is missing, nothing is taken', async t => {
  const { ask, walk, told } = await openWorld(t);
  walk(path, 'alice', 5);
  t.equal((await ask('/v1/offline-decisions', form({ path: '/srv/elsewhere', lines: line }))).status, 404);
  t.equal((await ask('/v1/offline-decisions', form({ path: 'relative', lines: line }))).status, 400);
  t.equal((await ask('/v1/offline-decisions', form({ path }))).status, 400);
  t.equal((await ask('/v1/offline-decisions', form({ lines: line }))).status, 400);
  t.equal((await ask(`/v1/offline-decisions?path=${path}`)).status, 405);
  t.strictSame(told.offlineDecisions, []);
});

t.test('of a request a hundred lines are looked at, and the others counted', async t => {
  const { ask, walk, told } = await openWorld(t);
  walk(path, 'alice', 5);
  const lines = `${line}\n`.repeat(700);
  const answer = await ask('/v1/offline-decisions', form({ path, lines }));
  t.equal(answer.status, 202);
  t.strictSame(JSON.parse(answer.text), { taken: 100, not_understood: 0, passed_over: 600 });
  t.match(told.offlineDecisions, [{ decisions: { length: 100 }, passedOver: 600 }]);
});

t.test('what comes too soon is to be told later', async t => {
  const { ask, walk, told } = await openWorld(t);
  walk(path, 'alice', 5);
  told.takesOffline = false;
  const { status, text } = await ask('/v1/offline-decisions', form({ path, lines: line }));
  t.match([status, JSON.parse(text).code], [429, 'too_often']);
});

t.test('the longest record that a hook keeps is within what the gate takes', async t => {
  const { ask, walk, told } = await openWorld(t);
  const far = `/srv/${'\u00fc'.repeat(2000)}.git`;
  walk(far, 'alice', 5);
  const long = `${line.replace('alice', '\\'.repeat(255))}\n`;
  const lines = long.repeat((16 * 1024) / long.length);
  const { status } = await ask('/v1/offline-decisions', form({ path: far, lines }));
  t.equal(status, 202);
  t.match(told.offlineDecisions, [{ passedOver: 0 }]);
});

t.test('the trusted gate takes it too', async t => {
  const { askTrusted, walk, told } = await openWorld(t);
  walk(path, 'alice', 5);
  t.equal((await askTrusted('/v1/offline-decisions', form({ path, lines: line }))).status, 202);
  t.equal(told.offlineDecisions.length, 1);
});
