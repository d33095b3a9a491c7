import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { MetricTable } from '../../../../src/core/metrics/metricTable.ts';
import { chartsOf, matchesFilter, metricsOf } from '../../../../webview/dashboard/chartCatalog.ts';
import { explainChart, explainMetric, metricContext } from '../../../../webview/dashboard/explanations.ts';
import { csvOf, pictureSubtitle } from '../../../../webview/dashboard/exports.ts';
import { arrangement, fittingColumns } from '../../../../webview/dashboard/gridColumns.ts';
import { pairInView } from '../../../../webview/dashboard/pairInView.ts';
import { withPinned } from '../../../../webview/dashboard/pinnedGroup.ts';
import { sharesOf } from '../../../../webview/dashboard/shareBar.ts';
import { stageInView, stageRanges } from '../../../../webview/dashboard/stageRanges.ts';
import {
	type ChartSpec,
	type ColumnSource,
	canBeLog,
	columnsAt,
	hiddenOf,
	layersOf,
} from '../../../../webview/lib/charts/chartSpec.ts';
import { rowsWithValues } from '../../../../webview/lib/charts/chartTable.ts';
import { fileNameOf, toCsv } from '../../../../webview/lib/charts/csv.ts';
import { DrawQueue } from '../../../../webview/lib/charts/drawQueue.ts';
import { envelopeOf } from '../../../../webview/lib/charts/envelope.ts';
import { wrapEntries } from '../../../../webview/lib/charts/exportPng.ts';
import { pairPoints } from '../../../../webview/lib/charts/pairPoints.ts';
import { actOnLink, plotActionOf } from '../../../../webview/lib/charts/plotKeys.ts';
import { elapsedOf, PlotLink } from '../../../../webview/lib/charts/plotLink.ts';
import { formatTick, formatValue, yRange } from '../../../../webview/lib/charts/plotScales.ts';
import { wheelActionOf } from '../../../../webview/lib/charts/plotWheel.ts';
import { nearestRow, rowsOfRange } from '../../../../webview/lib/charts/rowRange.ts';
import { SmoothedColumn } from '../../../../webview/lib/charts/smoothing.ts';
import { madeUpMetrics, madeUpRun } from './dashboardFixture.ts';

const nan = Number.NaN;
const noneHidden: ReadonlySet<string> = new Set();

function sourceOf(
	columns: Record<string, readonly number[]>,
	smooth?: (values: Float64Array) => Float64Array,
): ColumnSource {
	const typed = new Map(Object.entries(columns).map(([name, values]) => [name, Float64Array.from(values)]));
	return {
		length: [...typed.values()][0]?.length ?? 0,
		column: (name) => typed.get(name),
		smoothed: (name) => {
			const values = typed.get(name);
			return values && smooth ? smooth(values) : values;
		},
		gaps: (name) => (name.startsWith('eval/') ? 'dotted' : 'kept'),
	};
}

const spec = (changes: Partial<ChartSpec>): ChartSpec => ({
	id: 'c',
	title: 'C',
	kind: 'lines',
	lines: [{ metric: 'a', label: 'A', color: 0 }],
	bands: [],
	unit: 'number',
	unitLabel: '',
	...changes,
});

describe('run charts', () => {
	const all = [...new Set([...madeUpMetrics({ sft: 30, grpo: 30 })].flatMap(({ values }) => Object.keys(values)))];

	it('show every metric exactly once', () => {
		const groups = chartsOf(all);
		const shown = groups.flatMap((group) => group.charts.flatMap(metricsOf));
		assert.deepEqual([...shown].sort(), [...all].sort());
		assert.equal(
			groups.some((group) => group.id === 'other'),
			false,
			'no metric of an engine ends up under Other',
		);
		const ids = groups.flatMap((group) => group.charts.map((chart) => chart.id));
		assert.equal(new Set(ids).size, ids.length);
	});

	it('are grouped and named as in the catalog', () => {
		assert.deepEqual(
			chartsOf(all).map((group) => [group.title, ...group.charts.map((chart) => chart.title)].join(' | ')),
			[
				'Reward and accuracy | Reward | Reward components | Held-out accuracy | Zero reward SD',
				'Policy | KL to reference | Entropy | Clip ratios | Sampler/trainer log-prob difference',
				'Completions | Completion length | Completed-response length | Truncated completions',
				'Optimizer | Loss | Gradient norm | Learning rate',
				'Time breakdown | Time per phase | Tokens per second | Completions per second | Step time | Tokens processed',
			],
		);
	});

	it('show each GPU as a row of small charts on one scale, or several GPUs per chart if there are many', () => {
		const parts = ['memory_used', 'memory_total', 'memory_peak', 'utilization', 'temperature', 'power', 'power_limit'];
		const gpus = (count: number) =>
			Array.from({ length: count }, (_, i) => parts.map((part) => `gpu/${i}/${part}`)).flat();
		const [group, ...more] = chartsOf([...gpus(2), 'gpu/0/fan']);
		assert.equal(group?.title, 'Devices');
		assert.deepEqual(
			group?.charts.map(({ title, size }) => `${title} ${size}`),
			[0, 1].flatMap((i) => ['memory', 'utilization', 'temperature', 'power'].map((kind) => `GPU ${i} ${kind} small`)),
		);
		assert.deepEqual(
			group?.charts[0]?.lines.map(({ metric, reference }) => [metric, reference ?? false]),
			[
				['gpu/0/memory_used', false],
				['gpu/0/memory_peak', false],
				['gpu/0/memory_total', true],
			],
		);
		assert.deepEqual(
			more.flatMap(({ charts }) => charts.map(({ title }) => title)),
			['gpu/0/fan'],
			'an unknown GPU metric still gets a chart',
		);
		const [many] = chartsOf(gpus(20));
		assert.deepEqual(
			many?.charts.slice(0, 4).map(({ title, lines }) => `${title}: ${lines.length}`),
			['GPUs 0 to 7, memory: 9', 'GPUs 8 to 15, memory: 9', 'GPUs 16 to 19, memory: 5', 'GPUs 0 to 7, utilization: 8'],
		);
		assert.deepEqual(chartsOf(['gpu/0/memory_total']), [], 'a total without usage gets no chart');
	});

	it('put preference training next to its held-out metrics', () => {
		const titles = (...names: string[]) =>
			chartsOf(names).flatMap(({ title, charts }) => charts.map((chart) => `${title}: ${metricsOf(chart).join(' ')}`));
		assert.deepEqual(titles('loss', 'rewards/accuracies', 'rewards/chosen', 'eval/loss', 'eval/rewards/accuracies'), [
			'Preferences and judge models: rewards/accuracies eval/rewards/accuracies',
			'Preferences and judge models: rewards/chosen',
			'Optimizer: loss eval/loss',
		]);
		assert.deepEqual(titles('accuracy', 'eval/accuracy', 'mean_reward', 'min_reward', 'max_reward'), [
			'Preferences and judge models: accuracy eval/accuracy',
			'Preferences and judge models: mean_reward min_reward max_reward',
		]);
		assert.deepEqual(
			titles('eval/accuracy'),
			['Reward and accuracy: eval/accuracy'],
			'for other trainers, it is the accuracy of answers',
		);
		assert.deepEqual(
			chartsOf(['eval/accuracy'], true).map(({ id }) => id),
			['preferences'],
			'for our engines, it is the accuracy of a process reward model',
		);
	});

	it('show the time per phase for the visible range', () => {
		const nan = Number.NaN;
		const source = sourceOf({ a: [1, 3, nan, 9], b: [nan, 4, nan, nan], c: [nan, nan, nan, 1] });
		const { parts, rows } = sharesOf(['a', 'b', 'c', 'absent'], source, 0, 3);
		assert.equal(rows, 2);
		assert.deepEqual(
			[...parts],
			[
				['a', { mean: 2, share: 0.5 }],
				['b', { mean: 2, share: 0.5 }],
			],
		);
		assert.deepEqual(sharesOf(['a'], source, 2, 3), { parts: new Map(), rows: 0 });
	});

	it('put unknown metrics under Other, with their own names', () => {
		const hostile = '<img src=x onerror=alert(1)>';
		const groups = chartsOf(['loss', hostile, '__proto__', 'constructor', 'objective/kl', 'reward_std', 'epoch']);
		const titles = (id: string) => groups.find((group) => group.id === id)?.charts.map((chart) => chart.title);
		assert.deepEqual(titles('other'), [hostile, '__proto__', 'constructor', 'objective/kl']);
		assert.deepEqual(titles('reward'), ['Reward SD'], 'known metrics stay in their own groups');
		assert.deepEqual(titles('optimizer'), ['Loss', 'Epoch']);
		assert.equal(explainMetric(hostile, {}).title, hostile);
	});

	it('omit charts without metrics', () => {
		assert.deepEqual(chartsOf([]), []);
		assert.deepEqual(
			chartsOf(['loss']).map((group) => group.id),
			['optimizer'],
		);
	});

	it('can be found by words in titles, lines and metrics', () => {
		const [group] = chartsOf(['reward', 'reward_std', 'rewards/accuracy/mean', 'rewards/accuracy/std']);
		const [reward, components] = group?.charts ?? [];
		assert.ok(reward && components);
		assert.ok(matchesFilter(reward, ''));
		assert.ok(matchesFilter(reward, 'REWARD_std'));
		assert.ok(matchesFilter(components, 'accuracy mean'));
		assert.equal(matchesFilter(reward, 'accuracy'), false);
	});

	it('are explained for the current stage', () => {
		const run = madeUpRun({
			stages: [
				{
					name: 'sft',
					type: 'sft',
					steps: 4,
					lossType: null,
					beta: null,
					advantages: null,
					updatesPerBatch: null,
					numGenerations: null,
				},
				{
					name: 'grpo',
					type: 'grpo',
					steps: 9,
					lossType: 'grpo',
					beta: 0,
					advantages: 'group',
					updatesPerBatch: 1,
					numGenerations: 8,
				},
			],
		});
		const loss = (stage: string) => explainMetric('loss', metricContext(run, stage)).paragraphs.join(' ');
		assert.match(loss('sft'), /likelihood/i);
		assert.match(loss('grpo'), /gives 0/);
		const dapo = { ...run, stages: run.stages.map((stage) => ({ ...stage, lossType: 'dapo' })) };
		assert.match(
			explainMetric('loss', metricContext(dapo, 'grpo')).paragraphs.join(' '),
			/weighted by completion length/,
		);
		const chart = chartsOf(['loss'])[0]?.charts[0];
		assert.ok(chart);
		assert.match(explainChart(chart, metricContext(run, 'grpo')).paragraphs.join(' '), /gives 0/);
	});
});

describe('chart layers', () => {
	it('draw bands behind raw lines and raw lines behind averages', () => {
		const source = sourceOf({ a: [1, 2, 3], s: [0.5, 0.5, nan] }, (values) => values.map((value) => value + 10));
		const { layers, areas } = layersOf(
			spec({ bands: [{ kind: 'spread', of: 'a', by: 's', label: 'sd', color: 0 }] }),
			source,
			{ hidden: noneHidden, smoothing: true },
		);
		assert.deepEqual(
			layers.map((layer) => layer.role),
			['edge', 'edge', 'raw', 'line'],
		);
		assert.deepEqual(areas, [{ high: 0, low: 1, color: 0 }]);
		assert.deepEqual([...(layers[0]?.values ?? [])], [21.5, 22.5, nan]);
		assert.deepEqual([...(layers[1]?.values ?? [])], [0.5, 1.5, nan]);
		assert.deepEqual([...(layers[2]?.values ?? [])], [1, 2, 3]);
		assert.deepEqual([...(layers[3]?.values ?? [])], [11, 12, 13]);
	});

	it('do not smooth evaluations', () => {
		const source = sourceOf({ 'eval/x/accuracy': [1, nan, 3], low: [0, nan, 2], high: [2, nan, 4] }, () =>
			Float64Array.of(9, 9, 9),
		);
		const { layers } = layersOf(
			spec({
				lines: [{ metric: 'eval/x/accuracy', label: 'A', color: 0 }],
				bands: [{ kind: 'between', of: 'eval/x/accuracy', low: 'eval/low', high: 'eval/high', label: 'i', color: 0 }],
			}),
			source,
			{ hidden: noneHidden, smoothing: true },
		);
		assert.deepEqual(
			layers.map((layer) => [layer.role, [...layer.values]]),
			[['line', [1, nan, 3]]],
		);
	});

	it('can hide a line with its band, or only the band', () => {
		const source = sourceOf({ a: [1], s: [0.5] });
		const banded = spec({ bands: [{ kind: 'spread', of: 'a', by: 's', label: 'sd', color: 0 }] });
		const roles = (...hidden: string[]) =>
			layersOf(banded, source, { hidden: new Set(hidden), smoothing: false }).layers.map((layer) => layer.role);
		assert.deepEqual(roles(), ['edge', 'edge', 'line']);
		assert.deepEqual(roles('a'), []);
		assert.deepEqual(roles('a \u00b1 s'), ['line']);
	});

	it('are initially hidden if they would obscure others', () => {
		const lines = [
			{ metric: 'a', label: 'A', color: 0 },
			{ metric: 'b', label: 'B', color: 1, initiallyHidden: true },
		];
		assert.deepEqual([...hiddenOf(spec({ lines }), new Set())], ['b']);
		assert.deepEqual([...hiddenOf(spec({ lines }), new Set(['a', 'b', 'gone']))], ['a']);
	});

	it('stack phases, counting a missing phase as zero', () => {
		const source = sourceOf({ a: [1, nan, nan], b: [2, 2, nan], c: [nan, 3, nan] });
		const { layers } = layersOf(
			spec({
				kind: 'stack',
				lines: ['a', 'b', 'c', 'gone'].map((metric, color) => ({ metric, label: metric, color })),
			}),
			source,
			{ hidden: noneHidden, smoothing: false },
		);
		assert.deepEqual(
			layers.map((layer) => [layer.metric, [...layer.values]]),
			[
				['c', [3, 5, nan]],
				['b', [3, 2, nan]],
				['a', [1, nan, nan]],
			],
		);
	});

	it('can be drawn at selected rows, and on a log axis only above 0', () => {
		const { layers } = layersOf(spec({}), sourceOf({ a: [1, nan, -2, 0, 5] }), {
			hidden: noneHidden,
			smoothing: false,
		});
		assert.deepEqual(columnsAt(layers, Int32Array.of(0, 1, 2, 3, 4), false), [[1, null, -2, 0, 5]]);
		assert.deepEqual(columnsAt(layers, Int32Array.of(0, 2, 3, 4), true), [[1, null, null, 5]]);
		assert.equal(canBeLog(spec({}), sourceOf({ a: [0, -1, nan] }), noneHidden), false);
		assert.equal(canBeLog(spec({}), sourceOf({ a: [0, 1e-9] }), noneHidden), true);
	});
});

describe('run stages', () => {
	it('are detected in the rows and in the visible range', () => {
		const table = new MetricTable();
		const names = ['sft', 'sft', 'grpo', 'grpo', 'grpo', 'sft'];
		table.append(names.map((stage, i) => ({ step: i + 1, time: i, stage, values: {} })));
		const ranges = stageRanges(table);
		assert.deepEqual(ranges, [
			{ label: 'sft', from: 0, to: 1 },
			{ label: 'grpo', from: 2, to: 4 },
			{ label: 'sft 2', from: 5, to: 5 },
		]);
		assert.equal(stageInView(ranges, table.step, null), 'all');
		assert.equal(stageInView(ranges, table.step, { min: 3, max: 5 }), 1);
		assert.equal(stageInView(ranges, table.step, { min: 3, max: 4 }), null);
		assert.deepEqual(stageRanges(new MetricTable()), []);
	});

	it('that are still running are followed from their start', () => {
		const link = new PlotLink();
		const rows = (count: number) => Float64Array.from({ length: count }, (_, i) => i + 1);
		link.setRows(rows(50), rows(50));
		link.showFrom(31);
		assert.deepEqual([link.range, link.following], [{ min: 31, max: 50 }, true]);
		link.setRows(rows(60), rows(60));
		assert.deepEqual(link.range, { min: 31, max: 60 });
		link.setRange({ min: 40, max: 60 });
		link.setFollowing(true);
		link.setRows(rows(70), rows(70));
		assert.deepEqual(link.range, { min: 50, max: 70 }, 'a partial view keeps its width');
		link.showFrom(70);
		assert.deepEqual(link.range, { min: 50, max: 70 }, 'nothing follows step 70 yet');
	});
});

describe('smoothing', () => {
	it('is the debiased average of the available values', () => {
		const smoothed = new SmoothedColumn(0.5);
		const column = Float64Array.of(4, nan, 8, 0);
		// 4; then (0.5*2 + 0.5*8) / 0.75 = 20/3; then (0.5*5 + 0) / 0.875
		assert.deepEqual([...smoothed.update(column)], [4, nan, 5 / 0.75, 2.5 / 0.875]);
	});

	it('is the same whether rows arrive together or one by one', () => {
		const column = Float64Array.from({ length: 1000 }, (_, i) => (i % 7 === 0 ? nan : Math.sin(i)));
		const whole = [...new SmoothedColumn(0.9).update(column)];
		const step = new SmoothedColumn(0.9);
		for (let i = 1; i <= column.length; i++) step.update(column.subarray(0, i));
		assert.deepEqual([...step.update(column)], whole);
		assert.deepEqual([...new SmoothedColumn(0).update(column)], [...column]);
	});
});

describe('the columns of a group', () => {
	it('never leave a single chart in a row', () => {
		const of = (charts: number, fitting: number) => {
			const { columns, last } = arrangement(charts, fitting);
			return `${columns}${last ? ', the last is wide' : ''}`;
		};
		assert.deepEqual([of(4, 3), of(3, 3), of(6, 3), of(5, 3)], ['2', '3', '3', '3']);
		assert.deepEqual([of(7, 3), of(5, 4), of(9, 4)], ['3, the last is wide', '3', '3']);
		assert.deepEqual([of(3, 2), of(1, 3), of(2, 3), of(4, 1)], ['2, the last is wide', '3', '3', '1']);
		for (let charts = 2; charts < 40; charts++) {
			for (let fitting = 2; fitting < 8; fitting++) {
				const { columns, last } = arrangement(charts, fitting);
				assert.ok(columns >= 1 && columns <= fitting);
				assert.ok(last || charts <= columns || charts % columns !== 1 || columns === 1, `${charts} of ${fitting}`);
			}
		}
		assert.deepEqual([fittingColumns(320), fittingColumns(1200), fittingColumns(0)], [1, 3, 1]);
	});
});

describe('the link between charts', () => {
	const linked = (count = 101) => {
		const link = new PlotLink();
		link.setRows(
			Float64Array.from({ length: count }, (_, i) => i + 1),
			Float64Array.from({ length: count }, (_, i) => 5000 + 2 * i),
		);
		return link;
	};

	it('zooms, stays within the rows, and resets', () => {
		const link = linked();
		assert.deepEqual(link.shown, { min: 1, max: 101 });
		link.setRange({ min: 80, max: 20 });
		assert.deepEqual(link.range, { min: 20, max: 80 });
		assert.equal(link.following, false);
		link.zoom(0.5);
		assert.deepEqual(link.range, { min: 35, max: 65 });
		link.setRange({ min: 50, max: 50.0001 });
		assert.deepEqual(link.range, { min: 35, max: 65 }, 'a range that is too small is rejected');
		link.setRange({ min: -5, max: 1000 });
		assert.equal(link.range, null);
		link.reset();
		assert.equal(link.following, true);
	});

	it('follows the end at the current width, and stops on request', () => {
		const link = linked();
		link.setRange({ min: 91, max: 101 });
		link.setFollowing(true);
		assert.deepEqual(link.range, { min: 91, max: 101 });
		const more = linked(111);
		link.setRows(more.x, more.elapsed);
		assert.deepEqual(link.range, { min: 101, max: 111 });
		link.reset();
		link.setFollowing(false);
		assert.deepEqual(link.range, { min: 1, max: 111 });
		const still = linked(121);
		link.setRows(still.x, still.elapsed);
		assert.deepEqual(link.shown, { min: 1, max: 111 });
		link.setFollowing(true);
		assert.deepEqual([link.range, link.shown.max], [{ min: 11, max: 121 }, 121]);
	});

	it('keeps a pinned step: the cursor returns to it, and rows inserted before it do not move it', () => {
		const link = linked();
		link.setCursor(30);
		link.pin(link.cursor);
		link.setCursor(60);
		link.leave();
		assert.deepEqual([link.pinned, link.pinnedRow, link.cursor], [31, 30, 30]);
		link.setRows(new Float64Array(0), new Float64Array(0));
		assert.deepEqual(
			[link.pinned, link.pinnedRow, link.cursor],
			[31, null, null],
			'the step stays pinned while rows are reread',
		);
		const later = Float64Array.from({ length: 50 }, (_, i) => i + 21);
		link.setRows(later, later);
		assert.equal(link.pinnedRow, 10);
		link.leave();
		link.pin(10);
		assert.deepEqual([link.pinned, link.cursor], [null, null]);
	});

	it('restores the saved range, even before there are rows', () => {
		const rows = (count: number) => Float64Array.from({ length: count }, (_, i) => i + 1);
		const link = linked();
		link.showFrom(31);
		link.pin(40);
		const again = new PlotLink();
		again.restore(link.kept, link.pinned);
		again.setRows(rows(50), rows(50));
		again.setRows(rows(120), rows(120));
		assert.deepEqual([again.range, again.following, again.pinned], [{ min: 31, max: 120 }, true, 41]);
		link.setRange({ min: 5, max: 9 });
		again.restore(link.kept, null);
		again.setRows(rows(130), rows(130));
		assert.deepEqual([again.range, again.following], [{ min: 5, max: 9 }, false]);
	});

	it('shows the same rows on the time axis', () => {
		const link = linked();
		link.setRange({ min: 11, max: 21 });
		link.setAxis('time');
		assert.deepEqual(link.range, { min: 20, max: 40 });
		assert.deepEqual(
			[...elapsedOf(Float64Array.of(10, 12, 11, 15))],
			[0, 2, 2, 5],
			'elapsed time does not decrease when the clock is set back',
		);
	});

	it('moves the cursor by keyboard and keeps it visible', () => {
		const link = linked();
		const press = (key: string, shift = false) => {
			const action = plotActionOf({ key, shift, control: false });
			assert.ok(action, key);
			actOnLink(link, action);
			return link.cursor;
		};
		assert.equal(press('ArrowLeft'), 100, 'the cursor first appears at the end');
		assert.equal(press('ArrowLeft'), 99);
		assert.equal(press('ArrowLeft', true), 89);
		assert.equal(press('Home'), 0);
		assert.equal(press('ArrowLeft'), 0);
		assert.equal(press('End'), 100);
		assert.equal(press('PageUp'), 90);
		link.setRange({ min: 40, max: 60 });
		assert.equal(press('Home'), 38);
		assert.deepEqual(link.range, { min: 39, max: 59 });
		press('0');
		assert.equal(link.range, null);
		press('+');
		assert.ok(link.shown.max - link.shown.min < 60);
		assert.equal(press('Escape'), null);
		assert.equal(plotActionOf({ key: 'ArrowLeft', shift: false, control: true }), null);
		assert.equal(plotActionOf({ key: 'Tab', shift: false, control: false }), null);
	});

	it('zooms around the pointer with the wheel, and pans within the rows', () => {
		const link = linked();
		assert.equal(link.pan(10), false, 'everything is already in view');
		link.zoomAt(26, 0.5);
		assert.deepEqual(link.range, { min: 13.5, max: 63.5 });
		assert.equal(link.following, false);
		assert.equal(link.pan(20), true);
		assert.deepEqual(link.range, { min: 33.5, max: 83.5 });
		assert.equal(link.pan(1000), true);
		assert.deepEqual(link.range, { min: 51, max: 101 });
		assert.equal(link.pan(1), false);
		link.pan(-1000);
		assert.deepEqual(link.range, { min: 1, max: 51 });
		link.zoomAt(1, 10);
		assert.equal(link.range, null);

		const turn = { deltaX: 0, deltaY: 0, mode: 0, shift: false, control: false };
		assert.equal(wheelActionOf({ ...turn, deltaY: 100 }), null, 'the page scrolls');
		assert.equal(wheelActionOf({ ...turn, deltaX: 3, deltaY: 100 }), null);
		assert.deepEqual(wheelActionOf({ ...turn, deltaX: 30, deltaY: 3 }), { kind: 'pan', pixels: 30 });
		assert.deepEqual(wheelActionOf({ ...turn, deltaY: 2, mode: 1, shift: true }), { kind: 'pan', pixels: 32 });
		assert.deepEqual(wheelActionOf({ ...turn, deltaY: 0, control: true }), null);
		assert.deepEqual(wheelActionOf({ ...turn, deltaY: 1e9, control: true }), { kind: 'zoom', factor: 2 });
		const closer = wheelActionOf({ ...turn, deltaY: -25, control: true });
		assert.ok(closer?.kind === 'zoom' && Math.abs(closer.factor - Math.exp(-0.1)) < 1e-12);
	});

	it('keeps the cursor on its step when rows are inserted before it', () => {
		const link = new PlotLink();
		link.setRows(Float64Array.of(1, 50, 100), Float64Array.of(0, 1, 2));
		link.setCursor(1);
		const steps = Float64Array.from({ length: 100 }, (_, i) => i + 1);
		link.setRows(steps, steps);
		assert.equal(link.cursor, 49);
		link.setRows(steps.subarray(0, 20), steps.subarray(0, 20));
		assert.equal(link.cursor, null);
	});

	it('finds rows', () => {
		const x = [1, 2, 4, 8];
		assert.deepEqual(
			[0, 1, 2.9, 3.1, 5.9, 6.1, 99].map((value) => nearestRow(x, value)),
			[0, 0, 1, 2, 2, 3, 3],
		);
		assert.equal(nearestRow([], 1), -1);
		assert.deepEqual(rowsOfRange(x, null), { from: 0, to: 4 });
		assert.deepEqual(rowsOfRange(x, { min: 3, max: 4 }), { from: 1, to: 4 });
		assert.deepEqual(rowsOfRange(x, { min: 2, max: 3 }), { from: 0, to: 3 });
	});
});

describe('drawing', () => {
	it('stays within its time budget per frame, and starts the next frame with the rest', () => {
		const drawn: string[] = [];
		const frames: (() => void)[] = [];
		let now = 0;
		const queue = new DrawQueue({ request: (callback) => frames.push(callback), now: () => now });
		const plot = (name: string) => ({
			draw: () => {
				drawn.push(name);
				now += 6;
			},
		});
		const [a, b, c] = [plot('a'), plot('b'), plot('c')];
		const frame = () => frames.shift()?.();
		for (const item of [a, b, c, a]) queue.add(item);
		frame();
		assert.deepEqual(drawn, ['a', 'b']);
		for (const item of [a, b, c]) queue.add(item);
		frame();
		assert.deepEqual(drawn, ['a', 'b', 'c', 'a']);
		queue.remove(b);
		frame();
		assert.equal(frames.length, 0);
		assert.deepEqual(drawn, ['a', 'b', 'c', 'a']);
	});

	it('continues if a chart fails', () => {
		const frames: (() => void)[] = [];
		const queue = new DrawQueue({ request: (callback) => frames.push(callback), now: () => 0 });
		let drawn = 0;
		queue.add({
			draw: () => {
				throw new Error('no canvas');
			},
		});
		queue.add({ draw: () => drawn++ });
		assert.throws(() => frames.shift()?.(), /no canvas/);
		frames.shift()?.();
		assert.equal(drawn, 1);
	});
});

describe('a line with more points than pixels', () => {
	it('covers the values of each column and the segment from the previous column', () => {
		const random = Random.of('envelope', 1);
		const values = Array.from({ length: 5000 }, () => (random.int(10) === 0 ? null : random.normal()));
		const columns = 90;
		const columnOf = (row: number) => Math.floor(row / 50) - 5;
		const { low, high, first, last, gap } = envelopeOf(values, 10, 4900, columns, columnOf);
		for (let column = 0; column < columns; column++) {
			const there = values.filter(
				(value, row): value is number => value !== null && row >= 10 && row <= 4900 && columnOf(row) === column,
			);
			assert.equal(first[column], there[0]);
			assert.equal(last[column], there.at(-1));
			const way = column === 0 ? there : [...there, last[column - 1] as number];
			assert.equal(low[column], Math.min(...way));
			assert.equal(high[column], Math.max(...way));
			assert.equal(gap[column], 0);
		}
	});

	it('distinguishes columns without values from those without rows', () => {
		const columnOf = (row: number) => [0, 0, 1, 2, 4, 6, 6][row] ?? 0;
		const { low, high, gap } = envelopeOf([1, null, null, 2, 5, undefined, 3], 0, 6, 8, columnOf);
		assert.deepEqual([...low], [1, nan, 2, nan, 5, nan, 3, nan]);
		assert.deepEqual([...high], [...low]);
		assert.deepEqual([...gap], [0, 0, 1, 0, 0, 0, 1, 0]);
	});
});

describe('chart numbers', () => {
	it('have padded ranges that start at 0 if close to it, and stay within 0 and 1 for fractions', () => {
		assert.deepEqual(yRange(null, null, 'number', false), [0, 1]);
		assert.deepEqual(yRange(0.2, 0.9, 'share', false), [0, 0.9 + 0.7 * 0.08]);
		assert.deepEqual(
			yRange(0.97, 1, 'share', false).map((value) => Number(value.toFixed(4))),
			[0.9676, 1.02],
		);
		assert.deepEqual(yRange(5, 5, 'number', false), [4.5, 5.5]);
		assert.deepEqual(yRange(100, 110, 'number', true)[0], 0);
		assert.ok(yRange(100, 110, 'number', false)[0] > 90);
		assert.deepEqual(yRange(0, 0, 'number', false), [0, 0.5]);
	});

	it('are formatted with their unit', () => {
		assert.deepEqual(
			[
				formatValue(0.3047, 'share'),
				formatValue(0.0421, 'seconds'),
				formatValue(1_896_000, 'tokens'),
				formatValue(nan, 'nats'),
				formatTick(0.75, 'share'),
				formatTick(12_500, 'rate'),
				formatTick(1e-5, 'nats'),
			],
			['30.5%', '42 ms', '1,896,000', '\u2013', '75%', '12.5k', '1e-5'],
		);
	});
});

describe('exports', () => {
	it('are written as CSV that reads back (golden)', () => {
		const table = new MetricTable();
		table.append([
			{ step: 1, time: 1763640000.25, stage: 'sft', values: { loss: 2.5 } },
			{ step: 2, time: 1763640001.5, stage: 'grpo', values: { loss: 1e-7, 'a,"b"\nc': 0.1, '=HYPERLINK("x")': null } },
		]);
		assert.equal(
			csvOf(table, ['loss', 'a,"b"\nc', '=HYPERLINK("x")'], Int32Array.of(0, 1)),
			[
				`step,time,stage,loss,"a,""b""\nc","'=HYPERLINK(""x"")"`,
				'1,1763640000.25,sft,2.5,,',
				'2,1763640001.5,grpo,1e-7,0.1,',
				'',
			].join('\r\n'),
		);
		assert.equal(toCsv([{ name: 'stage', values: ['+cmd', 'a b'] }], [0, 1]), "stage\r\n'+cmd\r\na b\r\n");
	});

	it('are saved under safe file names', () => {
		assert.equal(fileNameOf('run one', 'Reward components'), 'run-one-Reward-components');
		assert.equal(fileNameOf('../../etc/passwd', 'x'), 'etc-passwd-x');
		assert.equal(fileNameOf('\u4e2d', '..'), 'export');
	});

	it('are saved as images with a subtitle for the chart settings', () => {
		assert.equal(pictureSubtitle('addition', 'step', 0, ''), 'addition, by step');
		assert.equal(pictureSubtitle('r', 'time', 0.6, 'mean over steps'), 'r, by time, smoothed 0.60; mean over steps');
	});

	it('wrap the legend in images', () => {
		assert.deepEqual(wrapEntries([40, 40, 40, 200, 10], 10, 100), [[0, 1], [2], [3], [4]]);
		assert.deepEqual(wrapEntries([], 10, 100), []);
	});

	it('skip rows without a value in a table', () => {
		assert.deepEqual(
			[...rowsWithValues([Float64Array.of(1, nan, nan), Float64Array.of(nan, nan, 3), undefined], 0, 3)],
			[0, 2],
		);
	});
});

describe('charts of one metric against another', () => {
	it('have a point for each row with both values, or for the mean of several rows if there are too many', () => {
		const [x, y] = [
			[1, 2, nan, 4, 5, 6],
			[10, nan, 30, 40, Infinity, 60],
		];
		assert.deepEqual(pairPoints(x, y, 0, 6), {
			x: [1, 4, 6],
			y: [10, 40, 60],
			rows: [
				[0, 0],
				[3, 3],
				[5, 5],
			],
			rowsPerPoint: 1,
		});
		const halves = pairPoints(x, y, 0, 6, 2);
		assert.deepEqual(
			[halves.x, halves.y, halves.rows, halves.rowsPerPoint],
			[
				[2.5, 6],
				[25, 60],
				[
					[0, 3],
					[5, 5],
				],
				2,
			],
		);
		assert.deepEqual(pairPoints(x, y, 1, 3).x, []);
	});

	it('show the steps in view, without the neighbors that lines need', () => {
		const table = new MetricTable();
		for (let step = 1; step <= 5; step++) {
			table.append([
				{ step, time: step, stage: 'grpo', values: { a: step, b: 10 * step, ...(step > 2 ? { c: 0 } : {}) } },
			]);
		}
		const pair = { x: 'a', y: 'b' };
		const inView = (range: { min: number; max: number } | null, wanted = pair) =>
			pairInView(table, { x: table.step, range }, wanted);
		assert.deepEqual(inView(null).series[0]?.x, [1, 2, 3, 4, 5]);
		const { series, note } = inView({ min: 2, max: 4 });
		assert.deepEqual([series[0]?.y, series[0]?.names, note], [[20, 30, 40], ['step 2', 'step 3', 'step 4'], '']);
		assert.deepEqual(inView({ min: 1, max: 2 }, { x: 'a', y: 'c' }), {
			series: [],
			note: 'No visible step has both metrics.',
		});
		assert.equal(inView(null, { x: 'a', y: 'd' }).note, 'The run does not have both metrics.');
	});

	it('are pinned if the run has both metrics, even if one is only a band in another chart', () => {
		const groups = chartsOf(['reward', 'reward_std', 'loss']);
		const [first, ...rest] = withPinned(groups, [
			{ x: 'reward_std', y: 'loss' },
			{ x: 'kl', y: 'loss' },
			{ x: null, y: 'reward_std' },
		]);
		assert.deepEqual(first?.pairs, [{ x: 'reward_std', y: 'loss' }]);
		assert.deepEqual(
			first?.charts.map(({ id }) => id),
			['reward'],
		);
		assert.ok(rest.every(({ charts }) => charts.length > 0 && charts.every(({ id }) => id !== 'reward')));
		assert.deepEqual(withPinned(groups, [{ x: 'kl', y: 'loss' }]), groups);
	});
});
