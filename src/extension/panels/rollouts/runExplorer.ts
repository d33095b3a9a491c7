import { checkAborted } from '../../../base/async.ts';
import { Disposable } from '../../../base/disposable.ts';
import { Failure } from '../../../base/failure.ts';
import { formatCounted } from '../../../base/format.ts';
import { completionMessages } from '../../../core/trace/conversation.ts';
import { messageText, turnsOf } from '../../../core/trace/messageText.ts';
import { completionSteps, namedStepRules, type StepRule, stepRule } from '../../../core/trace/splitSteps.ts';
import type { TraceTags } from '../../../core/trace/trace.ts';
import type {
	ExplorerCommand,
	ExplorerEvent,
	explorerRequests,
	LabelsContent,
} from '../../../protocol/explorerMessages.ts';
import type { RolloutLine } from '../../../protocol/rolloutLine.ts';
import type { RolloutSplit } from '../../../protocol/rolloutSplit.ts';
import type { Place } from '../../../protocol/rolloutsMessages.ts';
import type { StepRating } from '../../../protocol/stepLabel.ts';
import type { RequestParams, RequestResult } from '../../../protocol/webviewMessages.ts';
import type { RunContent } from '../../../runs/runContent.ts';
import { StepLabels } from '../../../runs/stepLabels.ts';
import type { ContinueFrom } from '../../rollouts/continueFrom.ts';
import { scanBehaviors } from './behaviorScan.ts';
import { CompletionFeedback } from './completionFeedback.ts';
import { type IndexAnswers, indexedBehaviors, indexedPrompt, isIndexed } from './indexedScan.ts';
import { scanPrompt } from './promptScan.ts';
import { madeTurns, rolloutDetail, shownTimeline } from './rolloutDetail.ts';
import { valueText } from './rolloutText.ts';
import type { ScanCount } from './runScan.ts';

export type ExplorerReaders = {
	readonly [M in
		| 'loadRollout'
		| 'loadTurns'
		| 'loadTimeline'
		| 'loadLabels'
		| 'saveLabels'
		| 'loadFeedback'
		| 'saveRating'
		| 'loadPreference'
		| 'savePreference'
		| 'policy']: (
		params: RequestParams<typeof explorerRequests, M>,
	) => Promise<RequestResult<typeof explorerRequests, M>>;
};

export interface RunExplorerOptions {
	readonly content: () => Promise<RunContent>;
	readonly rollout: (place: Place) => Promise<RolloutLine>;
	readonly tags: () => TraceTags;
	/** Returns the rater's name in this window. */
	readonly rater: () => string;
	readonly post: (event: ExplorerEvent) => void;
	/** Created on first use. */
	readonly continueFrom: () => Promise<Pick<ContinueFrom, 'policy' | 'generate'>>;
	/** The index worker and the run folder that it indexed the run under; null if there is no index. */
	readonly rolloutIndex?: { readonly answers: IndexAnswers; readonly folder: string } | null;
	/** Minimum interval between events from a scan or continuation, in milliseconds; default 100 ms. */
	readonly updateMs?: number;
}

const maxTurns = 20_000;
/** Minimum number of steps that a suitable splitting rule produces. */
const fewSteps = 3;

/**
 * Features of the rollouts panel beyond steps and groups: single rollouts, scans of the entire run, step labels, and
 * continuations. Scans and continuations stop when the panel is hidden.
 */
export class RunExplorer extends Disposable {
	readonly #options: RunExplorerOptions;
	readonly #scans = new Map<number, AbortController>();
	readonly #continuations = new Map<number, AbortController>();
	readonly #feedback: CompletionFeedback;
	#labels: Promise<StepLabels> | null = null;

	constructor(options: RunExplorerOptions) {
		super();
		this.#options = options;
		this.#feedback = new CompletionFeedback(options);
		this.register({ dispose: () => this.stop() });
	}

	readonly readers: ExplorerReaders = {
		loadRollout: async (params) => {
			const place = placeOf(params);
			const line = await this.#options.rollout(place);
			const completion = messageText(line.completion);
			const { step, group, index } = place;
			return {
				...{ step, group, index },
				prompt: messageText(line.prompt),
				answer: valueText(line.answer),
				rollout: rolloutDetail(line, completion, completion.length <= 2_000_000),
			};
		},
		loadTurns: async (params) => {
			const line = await this.#options.rollout(placeOf(params));
			const { parents = null } = line;
			const messages = completionMessages(line) ?? [];
			if (messages.length > maxTurns) {
				throw new Failure(
					'unsupported',
					`The completion has ${formatCounted(messages.length, 'message')}, but at most ${maxTurns} can be shown.`,
					'Open it as text instead.',
				);
			}
			return {
				turns: turnsOf(messages).map((turn) => ({ ...turn, calls: [...turn.calls] })),
				parents: typeof line.completion === 'string' ? null : parents,
				made: madeTurns(line),
			};
		},
		loadTimeline: async (params) => {
			const { extra } = await this.#options.rollout(placeOf(params));
			return { activities: shownTimeline(extra) };
		},
		loadLabels: (params) => this.#loadLabels(placeOf(params), params.rule ?? null),
		saveLabels: async (params) => {
			await this.#saveLabels(placeOf(params), params.rule, params.ratings);
			return {};
		},
		loadFeedback: ({ split, step, group }) => this.#feedback.group({ split: split ?? 'train', step, group }),
		saveRating: async (params) => {
			await this.#feedback.rate(placeOf(params), params.rating);
			return {};
		},
		loadPreference: ({ a, b }) => this.#feedback.preference(placeOf(a), placeOf(b)),
		savePreference: async ({ a, b, choice }) => {
			await this.#feedback.prefer(placeOf(a), placeOf(b), choice);
			return {};
		},
		policy: async ({ step }) => (await this.#options.continueFrom()).policy(step),
	};

	/** Handles a webview command that streams its results. */
	take(command: ExplorerCommand): void {
		switch (command.type) {
			case 'scanPrompt':
			case 'scanBehaviors':
				void this.#scan(command);
				break;
			case 'stopScan':
				this.#scans.get(command.scan)?.abort();
				break;
			case 'continueFrom':
				void this.#continue(command);
				break;
			case 'stopContinuation':
				this.#continuations.get(command.continuation)?.abort();
				break;
		}
	}

	/** Stops all work because the panel is no longer visible. */
	stop(): void {
		for (const controller of [...this.#scans.values(), ...this.#continuations.values()]) controller.abort();
		this.#scans.clear();
		this.#continuations.clear();
	}

	async #scan(command: Extract<ExplorerCommand, { type: 'scanPrompt' | 'scanBehaviors' }>): Promise<void> {
		const { scan, split, all } = command;
		// Run only one scan at a time, because scans are disk-bound.
		for (const other of this.#scans.values()) other.abort();
		const controller = new AbortController();
		this.#scans.set(scan, controller);
		const { signal } = controller;
		const count: ScanCount = { done: 0, total: 0, rollouts: 0, skipped: 0, bounded: false };
		const type = command.type === 'scanPrompt' ? 'promptScan' : 'behaviorScan';
		let rows: unknown[] = [];
		let indexed = false;
		const post = (state: 'running' | 'complete' | 'bounded' | 'stopped' | 'failed', failure: Failure | null = null) => {
			// After a stop, a restarted webview may reuse scan numbers.
			if (this.disposed || this.#scans.get(scan) !== controller) return;
			const { done, total, rollouts, skipped } = count;
			const event = { scan, state, done, total, rollouts, skipped, indexed, failure: failure?.toJSON() ?? null };
			this.#options.post({ type, ...event, rows } as ExplorerEvent);
			rows = [];
		};
		const timer = setInterval(() => post('running'), this.#options.updateMs ?? 100);
		try {
			const content = await this.#options.content();
			const tags = this.#options.tags();
			const add = (row: unknown) => void rows.push(row);
			const { answers, folder } = this.#options.rolloutIndex ?? { answers: null, folder: '' };
			indexed = await isIndexed(answers, folder, signal).catch(() => false);
			checkAborted(signal);
			if (command.type === 'scanPrompt') {
				const { step, group } = command;
				const prompt = await this.#promptOf(content, split, step, group, signal);
				if (indexed && answers) {
					await indexedPrompt(answers, folder, content, { split, prompt }, tags, count, add, signal);
				} else await scanPrompt(content, { split, step, prompt }, tags, all, count, add, signal);
			} else if (indexed && answers) {
				await indexedBehaviors(answers, folder, content, split, tags, count, add, signal);
			} else await scanBehaviors(content, split, tags, all, count, add, signal);
			post(count.bounded ? 'bounded' : 'complete');
		} catch (error) {
			const failure = Failure.from(error);
			if (failure.reason === 'cancelled') post('stopped');
			else post('failed', failure);
		} finally {
			clearInterval(timer);
			if (this.#scans.get(scan) === controller) this.#scans.delete(scan);
		}
	}

	async #promptOf(
		content: RunContent,
		split: RolloutSplit,
		step: number,
		group: number,
		signal: AbortSignal,
	): Promise<RolloutLine['prompt']> {
		const opened = await content.open(step, split);
		try {
			for await (const { rollout } of opened.rollouts(signal)) if (rollout?.group === group) return rollout.prompt;
		} finally {
			await opened.close();
		}
		throw new Failure('missing', `Step ${step} has no group ${group}.`, 'Select the step again.');
	}

	async #continue(command: Extract<ExplorerCommand, { type: 'continueFrom' }>): Promise<void> {
		const { continuation, prefix, maxTokens, temperature } = command;
		const controller = new AbortController();
		this.#continuations.set(continuation, controller);
		let text = '';
		const post = (
			state: 'running' | 'finished' | 'stopped' | 'failed',
			ended = false,
			failure: Failure | null = null,
		): void => {
			if (this.disposed || this.#continuations.get(continuation) !== controller) return;
			if (state === 'running' && text === '') return;
			this.#options.post({
				...{ type: 'continuation', continuation, state, text, ended, failure: failure?.toJSON() ?? null },
			});
			text = '';
		};
		const timer = setInterval(() => post('running'), this.#options.updateMs ?? 100);
		try {
			const place = placeOf(command);
			const [line, policy] = await Promise.all([this.#options.rollout(place), this.#options.continueFrom()]);
			const { ended } = await policy.generate(
				{ step: place.step, prompt: messageText(line.prompt), prefix, maxTokens, temperature },
				(more) => {
					text += more;
				},
				controller.signal,
			);
			post('finished', ended);
		} catch (error) {
			const failure = Failure.from(error);
			if (failure.reason === 'cancelled') post('stopped');
			else post('failed', false, failure);
		} finally {
			clearInterval(timer);
			if (this.#continuations.get(continuation) === controller) this.#continuations.delete(continuation);
		}
	}

	#stepLabels(): Promise<StepLabels> {
		this.#labels ??= this.#options.content().then((content) => StepLabels.of(content));
		this.#labels.catch(() => {
			this.#labels = null;
		});
		return this.#labels;
	}

	async #loadLabels(place: Place, wanted: string | null): Promise<LabelsContent> {
		const [line, labels] = await Promise.all([this.#options.rollout(place), this.#stepLabels()]);
		const saved = await labels.get(place);
		const text = messageText(line.completion);
		const tokens = line.tokens?.text;
		const savedRule = saved === null ? null : stepRule(saved.rule);
		const rule = (wanted === null ? savedRule : stepRule(wanted)) ?? this.#usualRule(text, tokens);
		const steps = completionSteps(text, this.#options.tags(), rule, tokens);
		const ratings = steps.map((step, i): StepRating | null => {
			// A saved label applies only if the step's text and the splitting rule are unchanged.
			const old = saved?.rule === rule ? saved.steps[i] : undefined;
			return old !== undefined && old.text === step.text ? old.rating : null;
		});
		return { rule, steps: steps.map(({ start, end }) => ({ start, end })), ratings };
	}

	/** Returns the coarsest rule that splits the text into several steps. */
	#usualRule(text: string, tokens: readonly string[] | undefined): StepRule {
		const tags = this.#options.tags();
		const order: StepRule[] = ['numbered', 'paragraphs', 'lines', 'sentences'];
		const fits = order.find((rule) => completionSteps(text, tags, rule).length >= fewSteps);
		if (fits !== undefined) return fits;
		const size = 64;
		return tokens !== undefined && tokens.length > fewSteps * size
			? `tokens-${size}`
			: (namedStepRules.at(-1) as StepRule);
	}

	async #saveLabels(place: Place, ruleName: string, ratings: readonly (StepRating | null)[]): Promise<void> {
		const rule = stepRule(ruleName);
		if (rule === null) throw new Failure('invalid', `“${ruleName.slice(0, 40)}” is not a valid splitting rule.`);
		const [line, labels] = await Promise.all([this.#options.rollout(place), this.#stepLabels()]);
		const steps = completionSteps(messageText(line.completion), this.#options.tags(), rule, line.tokens?.text);
		if (steps.length !== ratings.length) {
			throw new Failure(
				'mismatch',
				`The completion has ${formatCounted(steps.length, 'step')} but ${ratings.length} ratings; it has changed in the meantime.`,
				'Open the completion again.',
			);
		}
		await labels.save({
			...{ format: 1, time: Date.now() / 1000, ...place, rule },
			prompt: messageText(line.prompt),
			answer: valueText(line.answer),
			steps: steps.map(({ text }, i) => ({ text, rating: ratings[i] ?? null })),
		});
	}
}

function placeOf({
	split = 'train',
	step,
	group,
	index,
}: {
	split?: Place['split'] | undefined;
	step: number;
	group: number;
	index: number;
}): Place {
	return { split, step, group, index };
}
