/** Mails, handed to a real SMTP server: to owners, to administrators, and the summary of the week. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { setMailWanted, setMember, wantsMail } from '../../src/identity/index.ts';
import { deliveryKind } from '../../src/notices/deliveries.ts';
import { ownerUnsubscribing } from '../../src/notices/index.ts';
import { ask, createAllowance, grantRequest } from '../../src/policy/index.ts';
import { until } from '../e2e/ask.ts';
import { directoryFor, walk } from '../ledger/world.ts';
import { grouped } from '../quota/grouped.ts';
import { Mailbox, SilentServer } from './mailbox.ts';
import { Receiver } from './receiver.ts';
import { dayMs, hookAt, hourMs, keys, mailAt, minuteMs, World } from './world.ts';

/** Notices that go to a mailbox, from now on. */
async function opened(t: Test) {
  const mailbox = await Mailbox.open(t);
  const world = await World.open(t, { mail: mailAt(mailbox.port) });
  await world.pass();
  return { mailbox, world };
}

t.test('an owner who comes near the limit gets one mail with the figures, and the link', async t => {
  const { mailbox, world } = await opened(t);
  await world.user('alice', 'alice@git.example');
  await world.store('alice', 8500);
  await world.pass(minuteMs, 5);
  const [mail, ...others] = mailbox.take();
  t.same(others, []);
  t.equal(mail?.to, 'alice@git.example');
  t.equal(mail?.subject, '[softquota] 80 % of the limit is reached: alice uses 8.5 kB of 10 kB (85 %).');
  t.equal(
    mail?.text.trimEnd(),
    `80 % of the limit is reached: alice uses 8.5 kB of 10 kB (85 %).

Now: 8.5 kB of 10 kB, 85 % (everything).

What takes the space:
  8.5 kB  private repositories

The largest:
  8.5 kB  alice/app.git

All figures, what would free space, and asking for more:
https://git.example/quota/mine

You get this mail because it is about your quota. To get no more of them:
${/https:\S+unsubscribe\S+/.exec(mail?.text ?? '')?.[0]}`,
  );
  t.match(mail?.html, '<td align="right">8.5 kB</td><td>alice/app.git</td>');
  t.match(mail?.raw, /^From: softquota <quota@git\.example>\r$/m);
  t.match(mail?.raw, /^Auto-Submitted: auto-generated\r$/m);
  t.match(mail?.raw, /^Message-ID: <t-\S+@git\.example>\r$/im);
});

t.test('a limit of members together is one mail to administrators, and one notice', async t => {
  const mailbox = await Mailbox.open(t);
  const receiver = await Receiver.open(t);
  const world = await World.open(t, { mail: mailAt(mailbox.port), webhooks: [hookAt(receiver.url)] });
  await world.pass();
  for (const name of ['alice', 'bob']) await world.user(name, `${name}@git.example`);
  const together = { name: 'together', limitBytes: 2000, subjects: ['size:all'], per: 'group' } as const;
  await grouped(world.ledger, ['alice', 'bob'], [together], 'lab');
  await world.pass();
  receiver.taken.length = 0;
  await world.store('alice', 900);
  await world.store('bob', 950);
  await world.pass(minuteMs, 5);
  const [mail, ...others] = mailbox.take();
  t.same(others, []);
  const message = '90 % of the limit is reached: the group lab has 1.85 kB of 2 kB (92 %).';
  t.match(mail, { to: 'root@git.example', subject: `[softquota] ${message}` });
  t.notMatch(mail?.text, /alice|bob/);
  t.match(
    receiver.taken.map(({ json }) => json),
    [{ type: 'threshold', data: { owner: null, per: 'group', group: 'lab', to: 90, message } }],
  );
});

t.test('who comes over a limit into a grace reads when refusals begin', async t => {
  const mailbox = await Mailbox.open(t);
  const receiver = await Receiver.open(t);
  const world = await World.open(t, {
    mail: mailAt(mailbox.port, { adminEvents: ['threshold'] }),
    webhooks: [hookAt(receiver.url)],
  });
  const { ledger } = world;
  ledger.settings = { ...ledger.settings, graceMs: 7 * dayMs };
  ledger.graces.start({ pauseMs: 0 });
  await world.pass();
  await world.user('alice', 'alice@git.example');
  await world.store('alice', 10_500);
  const [received] = receiver.taken;
  t.match(received?.json.data, { to: 'limit', grace_until: /^\d{4}-\d\d-\d\dT/ });
  const until = Date.parse(String(received?.json.data.grace_until));
  t.ok(Math.abs(until - world.clock.wallMs - 7 * dayMs) < minuteMs);
  const day = `${new Date(until).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  const message = `The limit is reached: alice uses 10.5 kB of 10 kB (105 %). Refusals begin on ${day} at the latest.`;
  t.equal(received?.json.data.message, message);
  const mails = mailbox.take();
  const [mail, admins] = ['alice', 'root'].map(name => mails.find(({ to }) => to === `${name}@git.example`));
  const line = `Nothing is refused yet. Refusals begin on ${day}, or at 11 kB.`;
  t.equal(mail?.subject, `[softquota] ${message}`);
  t.match(mail?.text, `\nNow: 10.5 kB of 10 kB, 105 % (everything).\n${line}\n\nWhat takes`);
  t.match(mail?.html, `<p>${line}</p>`);
  t.match(admins?.text, `grace until: ${new Date(until).toISOString()}`);

  // Time passes that is not waited for, and what looks at it again is not either.
  world.clock.pass(7 * dayMs);
  await ledger.graces.settled();
  ledger.graces.reconsider();
  await world.pass();
  const ended =
    'The grace has ended: alice uses 10.5 kB of 10 kB (105 %). What adds data is refused until usage is below the limit.';
  t.match(receiver.taken[1]?.json, {
    type: 'grace',
    data: { ended_by: 'time', mode: 'enforce', until: new Date(until).toISOString(), message: ended },
  });
  const [told, ...others] = mailbox.take();
  t.match(
    [told?.to, told?.subject],
    ['alice@git.example', /^\[softquota\] The grace has ended: alice uses /],
  );
  t.same(others, [], 'administrators asked for thresholds only');
  t.match(told?.text, `${ended}\n\nNow: 10.5 kB of 10 kB, 105 % (everything).\n`);
  t.notMatch(told?.text, 'Nothing is refused yet');

  await world.store('alice', 100);
  await world.user('bob', 'bob@git.example');
  await world.store('bob', 11_500);
  const [, , , over] = receiver.taken;
  t.equal(over?.json.data.message, 'The limit is reached: bob uses 11.5 kB of 10 kB (115 %).');
  t.notMatch(over?.json.data, { grace_until: String });
  const [first] = mailbox.take().filter(({ to }) => to === 'bob@git.example');
  t.match(first?.text, 'Now: 11.5 kB of 10 kB');
  t.notMatch(first?.text, 'Refusals begin');
});

t.test('names are harmless in HTML and in the subject', async t => {
  const { mailbox, world } = await opened(t);
  const name = '<img src=x> \u202e{{#kinds}}&"';
  await world.user(name, 'odd@git.example');
  await world.store(name, 8500);
  const [mail] = mailbox.take();
  t.match(mail?.html, '&lt;img src=x&gt; \\u{202e}{{#kinds}}&amp;&quot;');
  t.notMatch(mail?.html, '<img');
  t.notMatch(mail?.raw, '\u202e');
});

t.test('who unsubscribes gets no more mails, by the link of a mail that nobody else can make', async t => {
  const { mailbox, world } = await opened(t);
  const id = await world.user('alice', 'alice@git.example');
  await world.store('alice', 8500);
  const [mail] = mailbox.take();
  const [, link = ''] =
    /^List-Unsubscribe: ?<([^>]+)>/m.exec(mail?.raw.replaceAll(/\r\n[ \t]/g, '') ?? '') ?? [];
  t.match(mail?.raw, /^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m);
  const url = new URL(link);
  t.equal(url.origin + url.pathname, 'https://git.example/quota/unsubscribe');
  const token = url.searchParams.get('token') ?? '';
  t.equal(ownerUnsubscribing(keys, token), id);
  t.equal(ownerUnsubscribing(keys, `${token.slice(0, -4)}AAAA`), null);
  t.equal(ownerUnsubscribing(keys, keys.seal(String(id), 'anything else')), null);
  const { documents } = world.ledger;
  await documents.transact(({ changes }) => setMailWanted(changes, id, false, world.clock.wallMs));
  await world.restart();
  t.equal(wantsMail(world.ledger.documents.snapshot, id), false, 'it is kept');
  await world.store('alice', 11_000);
  t.same(mailbox.take(), []);
  await world.ledger.documents.transact(({ changes }) => setMailWanted(changes, id, true, 0));
  await world.store('alice', 100);
  t.equal(mailbox.take().length, 1);
});

t.test('of an organization its owners are told, unless it has an address', async t => {
  const { mailbox, world } = await opened(t);
  await world.user('alice', 'alice@git.example');
  await world.user('bob', 'bob@git.example');
  await world.ledger.documents.transact(transaction => {
    const acme = transaction.createOwner('acme', 'organization');
    const member = (name: string, role: 'owner' | 'member') =>
      setMember(transaction.changes, acme, transaction.mustBeOwner(name), role);
    member('alice', 'owner');
    member('bob', 'member');
  });
  await world.store('acme', 8500);
  const [mail, ...others] = mailbox.take();
  t.same([mail?.to, others], ['alice@git.example', []]);
  t.match(mail?.text, 'https://git.example/quota/organizations/acme');
});

t.test('administrators read requests, and askers the answers', async t => {
  const { mailbox, world } = await opened(t);
  const id = await world.user('alice', 'alice@git.example');
  const { documents } = world.ledger;
  const now = world.clock.wallMs;
  const [request] = await documents.transact(transaction =>
    ask(
      transaction,
      { owner: 'alice', askedBy: { id, name: 'alice' }, bytes: 5000, until: now + dayMs, why: 'a release' },
      { now, autoGrant: null },
    ),
  );
  await world.pass();
  t.match(mailbox.take(), [
    { to: 'root@git.example', subject: /asks for 5 kB more for alice until .*: a release/ },
  ]);
  await documents.transact(transaction =>
    grantRequest(transaction, request, { words: 'fine', by: null, isAutomatic: false, now }),
  );
  await world.pass();
  t.match(mailbox.take(), [
    { to: 'alice@git.example', subject: /Granted: 5 kB more for alice until .*: fine/ },
  ]);
});

t.test('a mail that the server refuses is sent again, and in the end once', async t => {
  const { mailbox, world } = await opened(t);
  await world.user('alice', 'alice@git.example');
  mailbox.refuses = 'no room here';
  await world.store('alice', 8500);
  t.match(world.notices.deliveries(), [[/^t-/, { state: 'pending', attempts: 1, fault: /no room here/ }]]);
  await world.restart();
  mailbox.refuses = null;
  await world.pass(minuteMs, 2);
  t.equal(mailbox.take().length, 1);
});

t.test('a mail after a rename has the figures of its owner, not of who has the name now', async t => {
  const { mailbox, world } = await opened(t);
  await world.user('alice', 'alice@git.example');
  mailbox.refuses = 'no room here';
  await world.store('alice', 8500);
  const { documents } = world.ledger;
  await documents.transact(transaction => transaction.renameOwner('alice', 'alicia', () => false));
  walk(world.ledger, 'alice/hidden', 9900);
  walk(world.ledger, 'alicia/app', 8600);
  mailbox.refuses = null;
  await world.pass(minuteMs, 2);
  const mail = mailbox.take().find(({ to }) => to === 'alice@git.example');
  t.match(
    mail?.text,
    /^Now: 8\.6 kB of 10 kB.*\n\nWhat .*\n.*\n\nThe largest:\n {2}8\.6 kB {2}alicia\/app\.git$/m,
  );
  t.notMatch(mail?.text, 'hidden');
});

t.test('a member who left gets no mail of the organization that waited', async t => {
  const { mailbox, world } = await opened(t);
  await world.user('alice', 'alice@git.example');
  const { documents } = world.ledger;
  const acme = await documents.transact(transaction => {
    const acme = transaction.createOwner('acme', 'organization');
    setMember(transaction.changes, acme, transaction.mustBeOwner('alice'), 'owner');
    return acme;
  });
  mailbox.refuses = 'no room here';
  await world.store('acme', 8500);
  t.equal(world.notices.deliveries().length, 1);
  await documents.transact(transaction =>
    setMember(transaction.changes, acme, transaction.mustBeOwner('alice'), 'member'),
  );
  mailbox.refuses = null;
  await world.pass(minuteMs, 2);
  t.strictSame([mailbox.take(), world.notices.deliveries()], [[], []]);
});

t.test('a mail that waited when softquota was updated has the figures of the organization', async t => {
  const { mailbox, world } = await opened(t);
  await world.user('alice', 'alice@git.example');
  const { documents } = world.ledger;
  await documents.transact(transaction => {
    const acme = transaction.createOwner('acme', 'organization');
    setMember(transaction.changes, acme, transaction.mustBeOwner('alice'), 'owner');
  });
  walk(world.ledger, 'alice/private', 4000);
  mailbox.refuses = 'no room here';
  await world.store('acme', 8500);
  const [[id = '', delivery] = []] = world.notices.deliveries();
  const { aboutId: _, ...to } = { aboutId: null, ...delivery?.to };
  const ofBefore = deliveryKind.schema.parse({ ...delivery, to });
  await documents.transact(({ changes }) => changes.put(deliveryKind, id, ofBefore));
  mailbox.refuses = null;
  await world.pass(minuteMs, 2);
  const [mail] = mailbox.take();
  t.match(mail, { to: 'alice@git.example', text: /^Now: 8\.5 kB of 10 kB/m });
  t.notMatch(mail?.text, 'alice/private');
});

t.test('a mail that a silent server keeps waiting comes after the next start', async t => {
  const silent = await SilentServer.open(t);
  const world = await World.open(t, { mail: mailAt(silent.port) });
  await world.pass();
  await world.user('alice', 'alice@git.example');
  const waiting = world.store('alice', 8500);
  await silent.connected;
  await world.restart();
  await waiting;
  const fault = 'the daemon stopped before there was an answer';
  t.match(world.notices.deliveries(), [[/^t-/, { state: 'pending', attempts: 1, fault }]]);
  const mailbox = await Mailbox.open(t);
  world.configure({ mail: mailAt(mailbox.port) });
  await world.pass(minuteMs);
  t.equal(mailbox.take().length, 1);
});

t.test('the password is sent to a server that asks for it, and stands in no log', async t => {
  const mailbox = await Mailbox.open(t, { user: 'quota', password: 'hidden-words' });
  const world = await World.open(t, {
    mail: mailAt(mailbox.port, { user: 'quota', password: 'wrong-words' }),
  });
  t.match(await world.notices.test('mail'), /^root@git\.example: .*535/);
  world.configure({ mail: mailAt(mailbox.port, { user: 'quota', password: 'hidden-words' }) });
  t.equal(await world.notices.test('mail'), null);
  t.match(mailbox.take(), [{ to: 'root@git.example', subject: /This is a trial of notices/ }]);
  t.notMatch(world.logged.join(), /hidden-words|wrong-words/);
  world.configure({ mail: mailAt(mailbox.port, { tls: 'starttls' }) });
  t.match(await world.notices.test('mail'), /STARTTLS/i, 'nothing goes in clear where it must not');
});

t.test('a template that an administrator replaces is used, and ours where it is broken', async t => {
  const mailbox = await Mailbox.open(t);
  const templates = join(directoryFor(t), 'mail');
  mkdirSync(templates);
  writeFileSync(join(templates, 'owner.txt'), 'Subject: Achtung {{owner}}\n\n{{owner}}: {{used}}\n');
  writeFileSync(join(templates, 'owner.html'), '<p>\n{{#kinds}}</p>');
  const world = await World.open(t, { mail: mailAt(mailbox.port, { templates }) });
  await world.pass();
  await world.user('alice', 'alice@git.example');
  await world.store('alice', 8500);
  t.match(mailbox.take(), [
    { subject: 'Achtung alice', text: /^alice: 8\.5 kB\n/, html: /What takes the space/ },
  ]);
  t.match(
    world.logged.join(),
    /owner\.html cannot be used, so that of the package is: line 2: \{\{#kinds\}\} has no end/,
  );
});

t.test('while no summary can be made, each event is told once, and the summary comes later', async t => {
  const mailbox = await Mailbox.open(t);
  const world = await World.open(t, { mail: mailAt(mailbox.port, { digest: '0 8 * * 1' }) });
  await world.pass(1000, 2);
  await world.user('alice', 'alice@git.example');
  world.summaryFault = new Error('the past cannot be read');
  await world.pass(3 * dayMs);
  await world.store('alice', 8500);
  await world.pass(minuteMs, 3);
  const taken = () => mailbox.take().map(({ subject }) => subject);
  t.strictSame(taken(), ['[softquota] 80 % of the limit is reached: alice uses 8.5 kB of 10 kB (85 %).']);
  t.match(world.logged.join(), /the summary could not be made/);
  world.summaryFault = null;
  await world.pass(minuteMs, 3);
  t.strictSame(taken(), ['[softquota] 1 over, 1 near their limits; 12 MB stored']);
});

t.test('a week in fast motion: warnings, an allowance that ends, and the summary on Monday', async t => {
  const mailbox = await Mailbox.open(t);
  const digest = '0 8 * * 1';
  const mail = mailAt(mailbox.port, { digest, admins: ['root@git.example', 'ops@git.example'] });
  const world = await World.open(t, { mail });
  await world.pass();
  const id = await world.user('alice', 'alice@git.example');
  const { documents } = world.ledger;
  await world.store('alice', 9500);
  t.match(mailbox.take(), [{ subject: /90 % of the limit is reached/ }]);
  await documents.transact(({ changes }) =>
    createAllowance(changes, id, {
      bytes: 5000,
      until: world.clock.wallMs + dayMs,
      why: 'a release',
      grantedBy: null,
      grantedAt: world.clock.wallMs,
      request: null,
      automatic: false,
    }),
  );
  await world.pass();
  t.match(mailbox.take(), [{ subject: /Below 90 % of the limit again: alice uses 9\.5 kB of 15 kB/ }]);
  await world.store('alice', 12_000);
  t.match(mailbox.take(), [{ subject: /80 % of the limit is reached: alice uses 12 kB of 15 kB/ }]);
  world.clock.pass(dayMs);
  world.ledger.graces.start({ pauseMs: 0 });
  const subjects: string[] = [];
  await until(async () => {
    await world.pass();
    subjects.push(...mailbox.take().map(({ subject }) => subject));
    return subjects.length >= 2 ? true : null;
  });
  t.match(subjects.sort(), [/The 5 kB that alice had for a time have ended/, /The limit is reached: alice/]);
  const summaries: string[] = [];
  for (let hours = 0; hours < 12 * 24; hours++) {
    await world.pass(hourMs);
    for (const each of mailbox.take()) {
      summaries.push(`${new Date(world.clock.wallMs).getDay()} ${each.to} ${each.subject}`);
      if (summaries.length === 1) {
        t.match(
          each.text,
          /over a limit: 1; in their grace: 2; near one: 1\nStored: 12 MB, 7 MB more each week\n/,
        );
        t.match(each.text, /^Refused before today \(UTC\): \d+$/m);
        t.match(
          each.text,
          /^ *124 % {2}alice \(over\)\n *bob \(near\)$/m,
          'bob has no limit, only a warning',
        );
        t.match(each.html, '<td>In their grace</td><td>2</td>');
        t.match(each.html, '<td>Open requests for more</td><td>2</td>');
      }
    }
    if (hours === 100) await world.restart();
  }
  const subject = '[softquota] 1 over, 1 near their limits; 12 MB stored';
  t.same(
    summaries.sort(),
    ['ops', 'ops', 'root', 'root'].map(to => `1 ${to}@git.example ${subject}`),
    'two Mondays, each administrator once',
  );
});
