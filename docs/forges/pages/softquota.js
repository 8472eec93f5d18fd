// Shows on the pages of a repository and of the user's settings in Gitea and Forgejo how full the owner's quota
// is, with a link to "My usage". Whenever softquota does not answer, or does not know the user, nothing is shown.
(() => {
  const { quota, user, owner } = document.currentScript.dataset;
  const waitMs = 3000;
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

  function size(bytes) {
    const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
    const number = bytes / 1000 ** power;
    return {
      number: number.toFixed(power > 0 && number < 100 ? 1 : 0).replace(/\.0$/, ''),
      unit: units[power],
    };
  }

  function words({ used, limit }) {
    const [has, of] = [size(used), size(limit)];
    return has.unit === of.unit
      ? `${has.number} of ${of.number} ${of.unit}`
      : `${has.number} ${has.unit} of ${of.number} ${of.unit}`;
  }

  function shown({ used, limit, allowed }, href) {
    const bar = document.createElement('meter');
    Object.assign(bar, { min: 0, max: limit, high: limit * 0.9, low: limit * 0.8, optimum: 0, value: used });
    const link = document.createElement('a');
    Object.assign(link, { href, textContent: words({ used, limit }) });
    const line = document.createElement('div');
    line.id = 'softquota';
    line.className = 'ui container';
    Object.assign(line.style, { display: 'flex', gap: '.5em', alignItems: 'center', padding: '.5em 0' });
    line.append('Storage', bar, link);
    if (!allowed) line.append('Pushes that add data are refused.');
    return line;
  }

  async function show() {
    const page = document.querySelector('.page-content.repository, .page-content.user.settings');
    if (page === null) return;
    const isOwn = owner === '' || owner === user;
    const whose = isOwn ? 'user' : `orgs/${encodeURIComponent(owner)}`;
    const asked = await fetch(`${quota}api/v1/${whose}/quota/report`, {
      signal: AbortSignal.timeout(waitMs),
    });
    if (!asked.ok) return;
    const report = await asked.json();
    // Somebody else may be signed in to softquota, and many have no limit.
    if (report.name !== (isOwn ? user : owner) || !(report.limit > 0)) return;
    const place = isOwn ? 'mine' : `organizations/${encodeURIComponent(owner)}`;
    page.prepend(shown(report, quota + place));
  }

  show().catch(() => {});
})();
