/** Lines for a shell, to be copied. */

import { announce } from '../parts/announcer.tsx';
import { Button } from '../parts/button.tsx';

export function Lines({ lines }: { readonly lines: readonly string[] }) {
  const text = lines.join('\n');
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    announce('The commands are copied.');
  };
  return (
    <div class="lines">
      <pre>{text}</pre>
      {/* A browser has none on a page that came over plain http. */}
      {'clipboard' in navigator && <Button onClick={() => void copy()}>Copy</Button>}
    </div>
  );
}
