/** Ways to break an installation, one at a time, and what doctor has to say of each. */

export interface Fault {
  /** A sentence: what has happened. */
  readonly what: string;
  /** Does it, as root on the host. */
  readonly break: string;
  /** The codes of all that doctor finds. */
  readonly found: readonly string[];
  /** Word that the message has to name. */
  readonly names: string;
  /** False where the daemon cannot be ready meanwhile. */
  readonly ready?: false;
  /** Steps of an administrator where the mend is left to a person, and the words of the mend that say so. */
  readonly byHand?: { readonly says: RegExp; readonly does: string };
}

const app = '/srv/git/alice/app.git';
const site = '/srv/git/bob/site.git';
const ini = '/etc/softquota/app.ini';

export const hookFaults: readonly Fault[] = [
  {
    what: 'a repository has no hook',
    break: `rm ${app}/hooks/pre-receive`,
    found: ['hook'],
    names: app,
  },
  {
    what: 'a hook lost its right to run',
    break: `chmod a-x ${app}/hooks/pre-receive`,
    found: ['hook_blocked'],
    names: `${app}: git cannot run hooks/pre-receive`,
  },
  {
    what: 'the hook that was there before ours lost its right to run',
    break: `install -D -m 644 -o git /bin/true ${site}/hooks/pre-receive.d/50-previous`,
    found: ['hook_previous_skipped'],
    names: `${site}: hooks/pre-receive.d/50-previous is not executable`,
  },
  {
    what: 'somebody put another hook in the place of ours',
    break: `printf '#!/bin/sh\\nexit 0\\n' >${app}/hooks/pre-receive`,
    found: ['hook'],
    names: `${app}: another hook`,
  },
  {
    what: 'a hook belongs to root, and only root may run it',
    break: `chown root ${app}/hooks/pre-receive && chmod 700 ${app}/hooks/pre-receive`,
    found: ['hook_blocked'],
    names: `git may not run ${app}/hooks/pre-receive`,
  },
  {
    what: "the repository's configuration sends git to other hooks",
    break: `git config --file ${app}/config core.hooksPath /nowhere`,
    found: ['hook_unreached'],
    names: `${app}/config`,
  },
  {
    what: "the git user's own configuration sends git to other hooks",
    break: 'git config --file ~git/.gitconfig core.hooksPath .husky && chown git ~git/.gitconfig',
    found: ['hook_unreached'],
    names: '/home/git/.gitconfig',
  },
  {
    what: "the system's configuration sends git to a directory without ours",
    break: 'mkdir -p /etc/githooks && git config --system core.hooksPath /etc/githooks',
    found: ['hook_unreached'],
    names: '/etc/githooks',
  },
  {
    what: 'no program is left that can ask',
    break: 'mv /usr/bin/nc.openbsd /usr/bin/nc.away && mv /usr/bin/curl /usr/bin/curl.away',
    found: ['program_missing', 'hook'],
    names: '/usr/bin',
    byHand: {
      says: /^apt-get install -y curl$/,
      does: 'mv /usr/bin/nc.away /usr/bin/nc.openbsd && mv /usr/bin/curl.away /usr/bin/curl',
    },
  },
  {
    what: 'netcat, by which the hooks ask, is gone',
    break: 'mv /usr/bin/nc.openbsd /usr/bin/nc.away',
    found: ['hook'],
    names: 'the hooks ask by nc, which is gone',
  },
  {
    what: 'git is too old for a quarantine',
    break: `printf '#!/bin/sh\\nPATH=/usr/bin\\n[ "$1" != --version ] || exec echo git version 2.10.5\\nexec git "$@"\\n' >/usr/local/bin/git && chmod 755 /usr/local/bin/git`,
    found: ['program_missing', 'other_git'],
    names: '2.10.5',
  },
];

export const daemonFaults: readonly Fault[] = [
  {
    what: 'no daemon runs',
    break: 'systemctl stop softquota',
    found: ['daemon_away', 'daemon_away'],
    ready: false,
    names: 'no daemon answers',
  },
  {
    what: "the git user may not search the socket's directory",
    break: 'chmod 700 /run/softquota',
    found: ['gate_blocked'],
    names: 'git may not search /run/softquota',
  },
  {
    what: 'the socket lost its mode',
    break: 'chmod 600 /run/softquota/gate.sock',
    found: ['gate_blocked'],
    names: '(mode 0600)',
  },
  {
    what: 'everybody may put a socket in the place of ours',
    break: 'chmod 777 /run/softquota',
    found: ['exposed'],
    names: 'everybody may write /run/softquota',
  },
  {
    what: "the git user is not in the socket's group",
    break: 'chmod 755 /run/softquota && gpasswd -d git softquota',
    found: ['gate_blocked'],
    names: 'git may not use /run/softquota/gate.sock',
  },
  {
    what: 'anybody may report usage',
    break: `sed -i 's/^HTTP_PORT.*/&\\nTRUSTED_MODE = 0666/' ${ini} && systemctl restart softquota`,
    found: ['exposed'],
    names: '/var/lib/softquota/trusted.sock',
  },
  {
    what: "somebody opened the administrator's socket",
    break: 'chmod 660 /var/lib/softquota/admin.sock',
    found: ['exposed'],
    names: '/var/lib/softquota/admin.sock',
  },
  {
    what: 'anybody can write where the daemon keeps what it knows',
    break: 'chmod 777 /var/lib/softquota',
    found: ['exposed', 'exposed'],
    names: '/var/lib/softquota',
  },
  {
    what: 'anybody can write the configuration',
    break: `chmod 666 ${ini}`,
    found: ['exposed'],
    names: ini,
  },
  {
    what: 'anybody can read a secret',
    break: `printf '[store]\\nHOST = redis://:not-for-everybody@127.0.0.1\\n' >>${ini} && systemctl restart softquota`,
    found: ['exposed'],
    names: ini,
  },
  {
    what: 'the configuration has a fault',
    break: `echo 'COLOUR = blue' >>${ini}`,
    found: ['config'],
    names: 'COLOUR',
    byHand: { says: /^correct this line/, does: `sed -i '/COLOUR/d' ${ini} && systemctl reload softquota` },
  },
  {
    what: 'a key waits for a restart',
    break: `sed -i 's/^HTTP_PORT.*/HTTP_PORT = 3999/' ${ini} && systemctl reload softquota`,
    found: ['restart_needed'],
    names: '[server] HTTP_PORT',
  },
  {
    what: 'refusals are only recorded',
    break: `sed -i 's/^ENABLED.*/&\\nMODE = report/' ${ini} && systemctl reload softquota`,
    found: ['not_enforced'],
    names: 'only recorded',
    byHand: {
      says: /^when the figures are as expected: in .* set \[quota\] MODE = enforce; then systemctl reload softquota$/,
      does: `sed -i 's/^MODE.*/MODE = enforce/' ${ini} && systemctl reload softquota`,
    },
  },
  {
    what: 'no template matches the repositories',
    break: `sed -i 's/{repo}.git/{repo}.repository/' ${ini} && systemctl reload softquota`,
    found: ['unknown_repository'],
    names: `${app}: has the hooks`,
  },
  {
    what: 'a storage root is not mounted',
    break: 'mv /srv/git /srv/away && softquota scan',
    found: ['root_away'],
    ready: false,
    names: '/srv/git',
    byHand: { says: /^mount the file system/, does: 'mv /srv/away /srv/git && softquota scan' },
  },
];
