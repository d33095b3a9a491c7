import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { Disposable, toDisposable } from '../../../base/disposable.ts';
import { Failure } from '../../../base/failure.ts';
import { rowLabel } from '../../../core/episode/rowLabel.ts';
import { maxSearchRows, type SearchRow, type StrategiesEvent } from '../../../protocol/strategiesMessages.ts';
import type { ComparedProblem, ComparisonResult } from '../../../protocol/strategyComparison.ts';
import {
	comparisonFiles,
	comparisonResults,
	comparisonTree,
	isBeingCompared,
	readComparedProblems,
	readComparisonSummary,
} from '../../../runs/comparisonFolder.ts';

export interface StrategiesSessionOptions {
	readonly folder: string;
	readonly post: (event: StrategiesEvent) => void;
	/** Returns whether the comparison is running in this window. */
	readonly own: () => boolean;
	/** Returns why starting is disabled in this window, or null if it is enabled. */
	readonly forbidden: () => string | null;
	/** Interval between checks of the folder, in milliseconds. */
	readonly lookMs?: number;
}

/** Maximum length of a problem shown in a row, in characters. */
const longestPrompt = 240;

/** Extension side of the comparison view: follows the summary and lists the searches for a point. */
export class StrategiesSession extends Disposable {
	readonly #options: StrategiesSessionOptions;
	#timer: NodeJS.Timeout | undefined;
	#awake = false;
	/** Key of the last posted state: the file's state and whether this window or another process was running it. */
	#reported = '';
	#looking: Promise<void> | null = null;
	#problems: readonly ComparedProblem[] | null = null;

	constructor(options: StrategiesSessionOptions) {
		super();
		this.#options = options;
		this.register(toDisposable(() => clearInterval(this.#timer)));
	}

	/** Called when the view has started; sends it the complete state. */
	begin(): Promise<void> {
		this.#awake = true;
		this.#reported = '';
		this.#timer ??= setInterval(() => void this.look(), this.#options.lookMs ?? 1000);
		return this.look();
	}

	/** Checks for changes and posts them. */
	async look(): Promise<void> {
		while (this.#looking !== null) await this.#looking;
		if (!this.#awake || this.disposed) return;
		this.#looking = this.#look().finally(() => {
			this.#looking = null;
		});
		await this.#looking;
	}

	async #look(): Promise<void> {
		const { folder, post, own, forbidden } = this.#options;
		try {
			const stat = await lstat(join(folder, comparisonFiles.summary)).catch(() => null);
			const running = own() ? 'own' : (await isBeingCompared(folder)) ? 'other' : 'no';
			const now = JSON.stringify([stat?.mtimeMs, stat?.size, stat?.ino, running, forbidden()]);
			if (now === this.#reported) return;
			const summary = await readComparisonSummary(folder);
			// A killed process cannot record that it stopped.
			const state = summary.state === 'running' && running === 'no' ? 'stopped' : summary.state;
			this.#reported = now;
			const whole = state === 'ended' && summary.points.every(({ failed }) => failed === 0);
			const canGoOn = whole ? 'All searches have finished.' : (forbidden() ?? true);
			post({ type: 'summary', folder, summary: { ...summary, state }, running, canGoOn });
		} catch (error) {
			const { message, action } = Failure.from(error);
			const now = `failure ${message}`;
			if (now === this.#reported) return;
			this.#reported = now;
			post({ type: 'failure', folder, message, action: action ?? null });
		}
	}

	/** Returns a page of the searches for a point, in problem order, and their total number. */
	async searches(
		point: string,
		which: 'all' | 'right' | 'wrong',
		from: number,
	): Promise<{ rows: SearchRow[]; total: number }> {
		const problems = await this.#readProblems();
		// If two lines have the same key, the later line wins.
		const found = new Map<number, ComparisonResult>();
		for await (const result of comparisonResults(this.#options.folder)) {
			if (result?.point === point && result.problem < problems.length) found.set(result.problem, result);
		}
		const wanted = [...found.values()]
			.filter(({ correct }) => which === 'all' || correct === (which === 'right' ? 1 : 0))
			.sort((a, b) => a.problem - b.problem);
		const rows = wanted.slice(from, from + maxSearchRows).map((result) => rowOf(result, problems));
		return { rows, total: wanted.length };
	}

	/** Returns a search's log. Fails with `missing` if it was not saved. */
	async treeOf(point: string, problem: number): Promise<string> {
		const path = join(this.#options.folder, comparisonTree(point, problem));
		if ((await lstat(path).catch(() => null))?.isFile()) return path;
		throw new Failure(
			'missing',
			'The tree for this search was not saved.',
			'Run the comparison again without --no-trees.',
		);
	}

	async #readProblems(): Promise<readonly ComparedProblem[]> {
		this.#problems ??= await readComparedProblems(this.#options.folder);
		return this.#problems;
	}
}

/** Returns a row's prompt followed by its other columns, because rows can have the same prompt. */
function episodeLabel(prompt: string, row: ComparedProblem['row']): string {
	const { prompt: _, calls: __, ...columns } = row;
	const others = Object.entries(columns).filter(([, value]) => value !== null);
	const label = others.length === 0 ? '' : rowLabel(Object.fromEntries(others));
	return [prompt, label].filter((text) => text !== '').join(' ');
}

function rowOf(result: ComparisonResult, problems: readonly ComparedProblem[]): SearchRow {
	const { problem, answer, correct, any, tokens, nodes, stop, failed } = result;
	const { prompt, answer: gold, row } = problems[problem] as ComparedProblem;
	const short = (text: string) => (text.length > longestPrompt ? `${text.slice(0, longestPrompt)}…` : text);
	return {
		...{ problem, correct, any, tokens, nodes, stop },
		prompt: short(result.reward === undefined ? prompt : episodeLabel(prompt, row)),
		reward: result.reward ?? null,
		gold: gold === null ? null : short(gold),
		answer: answer === null ? null : short(answer),
		failed: failed === undefined ? null : short(failed),
	};
}
