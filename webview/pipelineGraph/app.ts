import { linkHorizontal } from 'd3';
import { Disposable } from '../../src/base/disposable.ts';
import { formatCount, formatDuration, formatPercent } from '../../src/base/format.ts';
import { costTexts } from '../../src/core/pipeline/stageCost.ts';
import type { GraphNode } from '../../src/core/pipeline/stageGraph.ts';
import type { PipelineAction } from '../../src/protocol/pipelineGraphMessages.ts';
import { button } from '../lib/controls.ts';
import { element, fill, setText } from '../lib/dom.ts';
import { Redraw } from '../lib/frames.ts';
import { type IconName, icon } from '../lib/icons.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { PipelineModel } from './pipelineModel.ts';

/** Size of a stage and spacing between stages, in CSS pixels. */
const box = { width: 224, height: 112, across: 56, down: 20 } as const;
const svgNamespace = 'http://www.w3.org/2000/svg';

const stateIcons: Readonly<Record<GraphNode['status'], IconName>> = {
	waiting: 'clock',
	running: 'play',
	finished: 'check',
	skipped: 'next',
	failed: 'error',
	stopped: 'stop',
};

export interface AppActions {
	open(stage: string): void;
	act(action: PipelineAction): void;
}

/** Graph of a pipeline's stages. Each stage is a button, with lines from the stages that it depends on. */
export class App extends Disposable {
	readonly #model: PipelineModel;
	readonly #actions: AppActions;
	readonly #name = element('h1', { class: 'pipeline-name' });
	readonly #status = element('span', { class: 'quiet', role: 'status' });
	readonly #fold = element('input', { attributes: { type: 'checkbox' } });
	readonly #foldLabel = element('label', { class: 'fold' }, this.#fold, 'Collapse rounds');
	readonly #graph = element('div', { class: 'graph', role: 'list', aria: { label: 'Stages' } });
	readonly #none = element('p', { class: 'quiet', hidden: true });
	readonly #resume = button({ label: 'Resume', icon: 'resume', onClick: () => this.#actions.act('resume') });
	readonly #stop = button({ label: 'Stop', icon: 'stop', onClick: () => this.#actions.act('stop') });
	readonly #redraw = this.register(new Redraw(() => this.#render()));

	constructor(root: HTMLElement, model: PipelineModel, actions: AppActions) {
		super();
		this.#model = model;
		this.#actions = actions;
		this.#fold.addEventListener('change', () => model.setFolded(this.#fold.checked));
		const act = (label: string, symbol: IconName, action: PipelineAction) =>
			button({ label, icon: symbol, appearance: 'icon', onClick: () => actions.act(action) }).element;
		root.append(
			element(
				'header',
				{ class: 'head' },
				this.#name,
				this.#status,
				this.#foldLabel,
				element('span', { class: 'spacer' }),
				this.#resume.element,
				this.#stop.element,
				act('Open recipe', 'braces', 'recipe'),
				act('Open log', 'log', 'log'),
			),
			element('div', { class: 'graph-area', tabIndex: 0, role: 'region', aria: { label: 'Graph' } }, this.#graph),
			this.#none,
		);
		this.register(model.onChange(() => this.#redraw.schedule()));
		this.#render();
	}

	#render(): void {
		const { event, nodes, folded, hasRounds } = this.#model;
		const pipeline = event?.type === 'pipeline' ? event : null;
		setText(this.#name, pipeline === null ? 'Pipeline' : plainLabel(pipeline.name, 200));
		setText(this.#status, pipeline?.status ?? '');
		this.#fold.checked = folded;
		this.#foldLabel.hidden = !hasRounds;
		const live = pipeline?.status === 'running' || pipeline?.status === 'starting';
		this.#stop.setHidden(!live);
		this.#resume.setHidden(pipeline === null || live || pipeline.status === 'finished');
		this.#none.hidden = pipeline !== null;
		setText(this.#none, event === null ? 'Loading pipeline…' : 'This folder no longer contains a pipeline.');
		const focused = (document.activeElement as HTMLElement | null)?.dataset.stage;
		fill(this.#graph, this.#lines(nodes), ...nodes.map((node) => this.#node(node)));
		if (focused !== undefined) {
			for (const node of this.#graph.querySelectorAll('button')) if (node.dataset.stage === focused) node.focus();
		}
	}

	#node(node: GraphNode): HTMLElement {
		const { name, type, status, rounds, accuracy, gain, seconds, device, done, total, why, opens, opened } = node;
		const progress =
			status === 'running' && done !== null && total !== null ? `${formatCount(done)} / ${formatCount(total)}` : null;
		const round = rounds === null ? null : `${rounds.done} of ${rounds.total} rounds`;
		const gained = gain === null ? null : `${gain < 0 ? '−' : '+'}${(100 * Math.abs(gain)).toFixed(1)} points`;
		const facts = [
			accuracy === null ? null : formatPercent(accuracy),
			gained === null ? null : element('span', { class: gain !== null && gain < 0 ? 'loss' : 'gain' }, gained),
		].filter((fact) => fact !== null);
		const costs = [seconds === null ? null : formatDuration(seconds), ...costTexts(node)]
			.filter((cost) => cost !== null)
			.map((cost) => plainLabel(cost, 40))
			.join(' · ');
		const place = device === null ? '' : plainLabel(device, 100);
		const control = element(
			'button',
			{
				class: `stage stage-${status}`,
				attributes: { type: 'button', ...(opens ? {} : { 'aria-disabled': 'true' }) },
				data: { stage: name },
				title: [why === null ? '' : plainLabel(why, 300), costs, place].filter((line) => line !== '').join('\n'),
				on: { click: () => opens && this.#actions.open(opened) },
			},
			element(
				'span',
				{ class: 'stage-head' },
				icon(stateIcons[status]),
				element('span', { class: 'stage-name' }, plainLabel(name, 100)),
			),
			element(
				'span',
				{ class: 'quiet' },
				[plainLabel(type, 60), round, status === 'running' ? progress : status].filter(Boolean).join(' · '),
			),
			element('span', { class: 'stage-facts' }, ...facts.map((fact) => element('span', null, fact))),
			element('span', { class: 'stage-costs quiet' }, costs),
		);
		const item = element('div', { class: 'place', role: 'listitem' }, control);
		item.style.left = `${leftOf(node)}px`;
		item.style.top = `${topOf(node)}px`;
		return item;
	}

	/** Draws a curve from the right side of each stage to the left side of each dependent stage. */
	#lines(nodes: readonly GraphNode[]): SVGSVGElement {
		const named = new Map(nodes.map((node) => [node.name, node]));
		const svg = document.createElementNS(svgNamespace, 'svg');
		const columns = Math.max(0, ...nodes.map(({ level }) => level)) + 1;
		const lanes = Math.max(0, ...nodes.map(({ lane }) => lane)) + 1;
		const width = columns * (box.width + box.across) - box.across;
		const height = lanes * (box.height + box.down) - box.down;
		svg.setAttribute('width', String(width));
		svg.setAttribute('height', String(height));
		svg.setAttribute('aria-hidden', 'true');
		for (const node of nodes) {
			for (const from of node.after.flatMap((name) => named.get(name) ?? [])) {
				const path = document.createElementNS(svgNamespace, 'path');
				const source: Point = [leftOf(from) + box.width, topOf(from) + box.height / 2];
				const target: Point = [leftOf(node), topOf(node) + box.height / 2];
				path.setAttribute('d', curve({ source, target }) ?? '');
				svg.append(path);
			}
		}
		return svg;
	}
}

type Point = [x: number, y: number];
const curve = linkHorizontal();

const leftOf = ({ level }: GraphNode): number => level * (box.width + box.across);
const topOf = ({ lane }: GraphNode): number => lane * (box.height + box.down);
