import { formatBytes, formatCount, formatCounted } from '../../src/base/format.ts';
import type { QueryRun } from '../../src/protocol/queryMessages.ts';
import { button } from '../lib/controls.ts';
import { element, fill, setText } from '../lib/dom.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { QueryModel } from './queryModel.ts';

/** Run selection, with the indexing progress of each run. */
export class RunsChooser {
	readonly element: HTMLDetailsElement;
	readonly #model: QueryModel;
	readonly #summary = element('summary', { class: 'runs-summary' });
	readonly #list = element('div', { class: 'run-list', role: 'group', aria: { label: 'Runs' } });
	#key = '';

	constructor(model: QueryModel) {
		this.#model = model;
		this.element = element(
			'details',
			{ class: 'runs' },
			this.#summary,
			element(
				'div',
				{ class: 'runs-body' },
				this.#list,
				element(
					'div',
					{ class: 'fields' },
					button({ label: 'All Runs', onClick: () => model.chooseRuns(null) }).element,
					button({ label: 'Add Runs\u2026', icon: 'folder', onClick: () => model.addRuns() }).element,
				),
			),
		);
	}

	/** Closes the list. @returns whether it was open */
	close(): boolean {
		const was = this.element.open;
		this.element.open = false;
		return was;
	}

	update(): void {
		const { runs, chosen } = this.#model;
		setText(this.#summary, summaryOf(runs, chosen));
		const key = JSON.stringify([runs, chosen]);
		if (key === this.#key) return;
		this.#key = key;
		// Preserve focus on a checkbox during progress updates.
		const focused = (document.activeElement as HTMLElement | null)?.dataset.run;
		fill(this.#list, ...runs.map((run) => this.#run(run)));
		if (focused !== undefined) {
			[...this.#list.querySelectorAll<HTMLElement>('input')].find((node) => node.dataset.run === focused)?.focus();
		}
	}

	#run(run: QueryRun): HTMLElement {
		const { chosen, runs } = this.#model;
		const box = element('input', { attributes: { type: 'checkbox' }, data: { run: run.folder } });
		box.checked = chosen === null || chosen.includes(run.folder);
		box.addEventListener('change', () => {
			const before = chosen ?? runs.map(({ folder }) => folder);
			const next = box.checked ? [...before, run.folder] : before.filter((folder) => folder !== run.folder);
			this.#model.chooseRuns(next.length === runs.length ? null : next);
		});
		return element(
			'label',
			{ class: 'run', title: plainLabel(run.folder, 400) },
			box,
			element('span', { class: 'run-name' }, plainLabel(run.name, 80)),
			run.format === 'reasoning-lab' ? null : element('span', { class: 'badge' }, plainLabel(run.format, 30)),
			element('span', { class: 'run-state quiet' }, stateOf(run)),
		);
	}
}

/** Describes the indexing progress of a run. */
export function stateOf({ progress }: QueryRun): string {
	if (progress === null) return 'not indexed yet';
	const { state, done, total, rollouts, skipped, message } = progress;
	const read = formatCounted(rollouts, 'rollout');
	const lost = skipped > 0 ? `, ${formatCount(skipped)} could not be read` : '';
	switch (state) {
		case 'waiting':
			return 'waiting to be indexed';
		case 'indexing': {
			return `indexing, ${indexedPercent(done, total)} of ${formatBytes(total)}; ${read}${lost}`;
		}
		case 'ready':
			return `${read}${lost}`;
		case 'failed':
			return `indexing failed: ${plainLabel(message ?? 'unknown reason', 300)}`;
	}
}

/** Indexing percentage, which stays below 100% until the index is ready. */
const indexedPercent = (done: number, total: number) =>
	`${total > 0 ? Math.min(99, Math.floor((100 * done) / total)) : 0}%`;

function summaryOf(runs: readonly QueryRun[], chosen: readonly string[] | null): string {
	const of = chosen === null ? runs : runs.filter(({ folder }) => chosen.includes(folder));
	const rollouts = of.reduce((sum, { progress }) => sum + (progress?.rollouts ?? 0), 0);
	const names =
		chosen === null
			? `all runs (${runs.length})`
			: of.length === 1
				? plainLabel(of[0]?.name ?? '', 60)
				: `${formatCount(of.length)} of ${formatCounted(runs.length, 'run')}`;
	return `${names}, ${formatCounted(rollouts, 'rollout')}`;
}

/** Describes what is missing from the index; null if it is complete. */
export function indexRemark(runs: readonly QueryRun[], chosen: readonly string[] | null): string | null {
	const of = chosen === null ? runs : runs.filter(({ folder }) => chosen.includes(folder));
	const failed = of.filter(({ progress }) => progress?.state === 'failed').length;
	const open = of.filter(
		({ progress }) => progress === null || progress.state === 'waiting' || progress.state === 'indexing',
	);
	const parts: string[] = [];
	if (open.length > 0) {
		const done = open.reduce((sum, { progress }) => sum + (progress?.done ?? 0), 0);
		const total = open.reduce((sum, { progress }) => sum + (progress?.total ?? 0), 0);
		const share = total > 0 ? `, ${indexedPercent(done, total)}` : '';
		parts.push(
			`Indexing ${formatCount(open.length)} of ${formatCounted(of.length, 'run')}${share}. Results are incomplete until indexing finishes.`,
		);
	}
	if (failed > 0) parts.push(`Indexing failed for ${formatCounted(failed, 'run')}. See the list of runs.`);
	return parts.length === 0 ? null : parts.join(' ');
}
