/** Page of help: describes each page, and how common tasks are done there. */

import { useEffect } from 'preact/hooks';
import { useSession } from '../api/session.ts';
import { Page, Panel } from '../parts/page.tsx';
import { Loading } from '../parts/states.tsx';
import { to } from '../place.ts';

interface Section {
  readonly id: string;
  readonly title: string;
  readonly text: readonly string[];
  /** Equivalent commands. */
  readonly commands?: readonly string[];
}

export function Help() {
  const { data: session, error } = useSession();
  const isKnown = session !== undefined || error !== null;
  useEffect(() => {
    if (isKnown) document.getElementById(window.location.hash.slice(1))?.scrollIntoView();
  }, [isKnown]);
  const shown = session?.is_admin ? [...forEverybody, ...forAdministrators] : forEverybody;
  if (!isKnown) {
    return (
      <Page title="Help">
        <Loading rows={8} />
      </Page>
    );
  }
  return (
    <Page title="Help">
      <nav aria-label="Sections of the help">
        <ul class="row">
          {shown.map(({ id, title }) => (
            <li key={id}>
              <a href={`${to('help')}#${id}`}>{title}</a>
            </li>
          ))}
        </ul>
      </nav>
      {shown.map(({ id, title, text, commands = [] }) => (
        <div key={id} id={id} class="help">
          <Panel title={title}>
            {text.map(paragraph => (
              <p key={paragraph}>{paragraph}</p>
            ))}
            {commands.length > 0 && (
              <p class="quiet-text">
                At a terminal:{' '}
                {commands.map((command, index) => (
                  <span key={command}>
                    {index > 0 && ', '}
                    <code>{command}</code>
                  </span>
                ))}
              </p>
            )}
          </Panel>
        </div>
      ))}
      <p>
        Programs can do everything that these pages do: see <a href="api/swagger">the HTTP API</a>.
      </p>
    </Page>
  );
}

const forEverybody: readonly Section[] = [
  {
    id: 'mine',
    title: 'My usage',
    text: [
      'Shows what you store, by kind of data, and how full your limits are. If you are over a limit, pushes and uploads of that kind are refused until you delete something or get more space. A push or upload that has begun is finished.',
      'A limit may be shared: all members of a group store that much together. Then the page shows the sum, the limit and your share.',
      'You can always delete branches, tags, packages and other data. A refused push says from when on deleted commits do not count: at once, or after the server’s next garbage collection.',
      'With "Ask for more space" you send a request to the administrators. The answer appears on the same page.',
      'If the server sends mails, you can switch off those about your usage at the end of the page.',
    ],
  },
  {
    id: 'my-tokens',
    title: 'My tokens',
    text: [
      'A token lets a script act for you. It is shown once, when you create it. Give it only the permissions that the script needs, and a day on which it expires.',
      'A session is a browser that is signed in as you. End sessions that you do not know, and revoke the token with which they began.',
    ],
  },
  {
    id: 'sign-in',
    title: 'Sign in',
    text: [
      "Sign in with your organization's account, if a button for it is there, or with a token. Ask an administrator for a token or for a one-time link.",
    ],
    commands: ['softquota sign-in-link --user NAME', 'softquota token create --user NAME'],
  },
];

const forAdministrators: readonly Section[] = [
  {
    id: 'overview',
    title: 'Overview',
    text: [
      'Shows what needs attention first: problems with the way to fix each, owners over or near a limit, refusals by day, and how full the disks are. The numbers of owners lead to the list of exactly those owners.',
      'The state of an owner is that of the kind of data in the worst state. Over the limit: something is refused. Near the limit: the lowest percentage of WARN_AT is reached. OK: neither.',
    ],
    commands: ['softquota doctor', 'softquota usage --state over,near'],
  },
  {
    id: 'owners',
    title: 'Owners',
    text: [
      'Lists all users and organizations. Search by a part of the name, filter by state, group and type, and sort by the heading of a column. "% of limit" is that of the kind of data in the worst state. The bar is full at the limit.',
      'To change the group of several owners, choose them with the boxes, on several pages if needed, and use "Change a group". Before you save it, you see which owners would be newly refused or allowed.',
      '"Download CSV" gives the list as it is filtered, without pages, for a spreadsheet.',
    ],
    commands: ['softquota usage --top 100', 'softquota group add-user GROUP OWNER'],
  },
  {
    id: 'owner',
    title: 'One owner',
    text: [
      'Shows what is stored and what can be added now, for each kind of data. "Why" shows every group and rule that was considered, and the one that decides.',
      'An allowance raises the limits of one owner until a chosen day, and ends automatically. For a lasting change, edit the groups.',
    ],
    commands: ['softquota usage OWNER', 'softquota allowance create'],
  },
  {
    id: 'repositories',
    title: 'Largest repositories',
    text: [
      "Lists the largest repositories of all owners, and with another kind of data the largest LFS stores, packages and so on. Of other hosts that share the quota, it has the 20 largest of each owner. Data that a program or a forge's database reports in whole sets is on the pages of the owners.",
    ],
  },
  {
    id: 'groups',
    title: 'Groups',
    text: [
      'A group has rules and members. If an owner is in several groups, it is enough that one of them allows an action. Owners in no group have the default groups, or else the limit for everybody (TOTAL in app.ini).',
      'A group whose members share a limit shows how full it is, and the members, largest first. The shared limit and the limit of each member hold both.',
      'Before you save an edit, the page shows which owners would be newly refused or allowed.',
    ],
    commands: ['softquota group list', 'softquota group add-rule GROUP RULE'],
  },
  {
    id: 'rules',
    title: 'Rules',
    text: [
      'A rule says first what is limited: what each member of the group stores, whatever the others store, what all members of the group store together, each repository, each push, or each file. It has an effect only in a group.',
      'The limit is for some kinds of data together; for each file, for files of these kinds. Sizes are written as 500M, 10 GB or 1.5GiB; -1 means no limit, and 0 means that nothing may be stored.',
      'In the mode report, refusals are only recorded. In the mode warn, whoever passes the limit is told, and refused nothing.',
    ],
    commands: ['softquota rule edit RULE --limit 10G'],
  },
  {
    id: 'policy',
    title: 'Policy',
    text: [
      'Shows who gets what: each group with its limits for each member, and what holds for everybody else. Below are possible mistakes, each with a link to the place where you fix it. You can download the whole policy, test another one against all owners, and put it in force as a whole.',
    ],
    commands: ['softquota policy lint', 'softquota policy simulate FILE', 'softquota policy import FILE'],
  },
  {
    id: 'requests',
    title: 'Requests',
    text: [
      'Owners ask here for more than their limits. A granted request is an allowance, more space until a chosen day; the owner sees your answer.',
    ],
    commands: ['softquota request list', 'softquota request grant ID'],
  },
  {
    id: 'scans',
    title: 'Scans',
    text: [
      'A scan measures what is stored. It runs on a schedule; start one here after you have changed something on the disk. A verifying scan reads everything again and reports the difference to what was known.',
    ],
    commands: ['softquota scan', 'softquota scan --verify'],
  },
  {
    id: 'events',
    title: 'Events',
    text: [
      'Shows refusals, thresholds reached, who changed what, sign-ins and requests, newest first. Refusals of one user are added up by the hour. Filter by kind, owner, who did it, day, and any text; the address of the page has the filters, so that you can send it to somebody.',
      'To undo a change of a rule, a group or of the groups of an owner, choose "Undo" in its row; it also stands on the page of the rule or the group. This is a new change, and you see its effect first. It is refused if the same thing has been changed again since.',
    ],
  },
  {
    id: 'notices',
    title: 'Notices',
    text: [
      'Shows the webhooks and mails that tell what happens. A notice that cannot be delivered waits and is tried again, with growing waits. After some days it is dead: fix what "Last fault" names, and send it again.',
      '"Send a test" sends a notice at once, and says what became of it. The sections [webhook.NAME] and [mail] of app.ini say where notices go.',
    ],
    commands: ['softquota notices list', 'softquota notices test NAME', 'softquota notices send-again --all'],
  },
  {
    id: 'hosts',
    title: 'Hosts',
    text: [
      'Shows the hosts that share the quota. Remove a host that will not come back, so that its usage no longer counts.',
    ],
    commands: ['softquota host list', 'softquota host forget HOST'],
  },
  {
    id: 'tokens',
    title: 'Tokens and sessions',
    text: [
      'Lists the tokens and the sessions of all users. Revoking a token also ends the sessions that began with it. The name of a user leads to a page where you can create a token for that user.',
    ],
    commands: ['softquota token list', 'softquota token revoke'],
  },
  {
    id: 'auths',
    title: 'Sources',
    text: [
      'A source is an identity provider with which users sign in. You can test a source with pasted claims before you save it, and see which groups a user would get.',
    ],
    commands: ['softquota auth list'],
  },
];
