/** Usage history of an owner, a group or all owners: a chart, a sentence about growth, and a table. */

import { useQuery } from '@tanstack/preact-query';
import { useRef, useState } from 'preact/hooks';
import { formatBytes, printable } from '../../../src/text.ts';
import type { History as Figures, HistoryRange } from '../../../src/wire/index.ts';
import { type HistoryOf, historyQuery } from '../api/own-queries.ts';
import { chartPng, chartSvg, download, historyCsv, type ImageText } from '../history/export.ts';
import { growthWords } from '../history/growth-words.ts';
import { type HistoryPoint, limitIn, type Picture, presentLeaves, totalOf } from '../history/plot.ts';
import { colourOf, kindWords } from './bar.tsx';
import { Size, Time, timeWords } from './figures.tsx';
import { HistoryPlot } from './history-plot.tsx';
import { Panel } from './page.tsx';
import { Answered, Empty } from './states.tsx';
import { RowButton, Table } from './table.tsx';

interface HistoryProps {
  readonly of: HistoryOf;
}

const ranges: readonly (readonly [HistoryRange, string])[] = [
  ['day', 'Day'],
  ['week', 'Week'],
  ['month', 'Month'],
  ['year', 'Year'],
  ['all', 'All'],
];

const pictures: readonly (readonly [Picture, string])[] = [
  ['limit', 'Against the limit'],
  ['kinds', 'By kind'],
];

export function History({ of }: HistoryProps) {
  const [range, setRange] = useState<HistoryRange>('month');
  const [chosen, setChosen] = useState<Picture | null>(null);
  const history = useQuery(historyQuery(of, range));
  const hasLimit = history.data !== undefined && limitIn(history.data) !== null;
  const picture = hasLimit ? (chosen ?? 'limit') : 'kinds';
  return (
    <Panel
      title="Usage history"
      actions={
        <div class="row">
          {hasLimit && <Choices label="Chart" now={picture} options={pictures} onChoice={setChosen} />}
          <Choices label="Period" now={range} options={ranges} onChoice={setRange} />
        </div>
      }
    >
      <Answered query={history} what="the history" rows={8}>
        {figures => (
          <div class="stack">
            <p>{growthWords(figures.growth)}</p>
            <Drawn of={of} figures={figures} picture={picture} />
          </div>
        )}
      </Answered>
    </Panel>
  );
}

interface DrawnProps extends HistoryProps {
  readonly figures: Figures;
  readonly picture: Picture;
}

function Drawn({ of, figures, picture }: DrawnProps) {
  const [only] = figures.points;
  if (only === undefined) return <Empty>No data yet. The history begins with the next full hour.</Empty>;
  if (figures.points.length === 1) {
    return (
      <Empty>
        One measurement so far: <Size bytes={totalOf(only)} /> on <Time at={only.at} />. The chart starts with
        the next one.
      </Empty>
    );
  }
  return (
    <HistoryPlot history={figures} picture={picture}>
      <Downloads of={of} figures={figures} />
      <AllFigures figures={figures} />
    </HistoryPlot>
  );
}

/** Downloads for a report: the figures, and the chart that is shown. */
function Downloads({ of, figures }: HistoryProps & { figures: Figures }) {
  const place = useRef<HTMLDivElement>(null);
  const whose = of.is === 'all' ? 'all owners' : of.is === 'me' ? 'my account' : printable(of.name);
  const name = `usage-${whose.replaceAll(/[^\p{L}\p{N}.-]+/gu, '-')}`;
  const image = () => {
    const chart = place.current?.closest('.plot')?.querySelector('svg');
    return chart instanceof SVGSVGElement ? chartSvg(chart, imageText(whose, figures)) : '';
  };
  const files = [
    ['csv', () => new Blob([historyCsv(figures)], { type: 'text/csv' })],
    ['svg', () => new Blob([image()], { type: 'image/svg+xml' })],
    ['png', () => chartPng(image())],
  ] as const;
  return (
    <div class="row" ref={place}>
      <span class="quiet-text">For a report:</span>
      {files.map(([type, make]) => (
        <RowButton
          key={type}
          words={`Download ${type.toUpperCase()}`}
          onClick={async () => download(`${name}.${type}`, await make())}
        />
      ))}
    </div>
  );
}

function imageText(whose: string, figures: Figures): ImageText {
  const last = figures.points.at(-1);
  const total =
    last === undefined ? '' : `: ${formatBytes(totalOf(last))} on ${timeWords(new Date(last.at))}`;
  return {
    title: `Usage of ${whose}${total}`,
    legend: presentLeaves(figures).map(({ leaf, index }) => ({
      words: `${kindWords(leaf)}: ${formatBytes(last?.bytes[index] ?? 0)}`,
      colour: colourOf(leaf),
    })),
  };
}

function AllFigures({ figures }: { figures: Figures }) {
  const { points, kept } = figures;
  const [isOpen, setOpen] = useState(false);

  return (
    <details onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>Show as a table</summary>
      {isOpen && (
        <div class="stack">
          <Table<HistoryPoint>
            caption="Usage history, latest first"
            rows={points.toReversed()}
            keyOf={({ at }) => at}
            columns={[
              { title: 'Time', cell: ({ at }) => <Time at={at} /> },
              { title: 'Together', isNumber: true, cell: point => <Size bytes={totalOf(point)} /> },
              ...presentLeaves(figures).map(({ leaf, index }) => ({
                title: kindWords(leaf),
                isNumber: true,
                cell: ({ bytes }: HistoryPoint) => <Size bytes={bytes[index] ?? 0} />,
              })),
            ]}
          />
          <p class="quiet-text small">
            Hourly figures are stored for {kept.hourly_days} days, daily figures for {kept.daily_days} days.
          </p>
        </div>
      )}
    </details>
  );
}

interface ChoicesProps<Value extends string> {
  readonly label: string;
  readonly now: Value;
  readonly options: readonly (readonly [value: Value, words: string])[];
  readonly onChoice: (value: Value) => void;
}

function Choices<Value extends string>({ label, now, options, onChoice }: ChoicesProps<Value>) {
  return (
    <fieldset class="choices">
      <legend class="visually-hidden">{label}</legend>
      {options.map(([value, words]) => (
        <button key={value} type="button" aria-pressed={value === now} onClick={() => onChoice(value)}>
          {words}
        </button>
      ))}
    </fieldset>
  );
}
