import { realpath } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { checkAborted } from '../base/async.ts';
import { Failure } from '../base/failure.ts';
import { formatCounted } from '../base/format.ts';
import { hashText, Random } from '../base/random.ts';
import { withMessages } from '../core/export/chatText.ts';
import { type ExportFormat, exportFormatInfos } from '../core/export/exportFormat.ts';
import { type Candidate, pairGroup, preferencePair, ranked, whyUnpaired } from '../core/export/preferencePairs.ts';
import { rewardCase } from '../core/export/rewardCase.ts';
import { rolloutTest, selectsStep } from '../core/export/selection.ts';
import { sftExample } from '../core/export/sft.ts';
import { recordedForm, type TextForm } from '../core/export/textForms.ts';
import { messageText } from '../core/trace/messageText.ts';
import { parseTrace } from '../core/trace/parseTrace.ts';
import { stepsOf } from '../core/trace/perturb.ts';
import { AtomicLines } from '../files/atomicLines.ts';
import { formatLine } from '../files/jsonLines.ts';
import { noStep, type RolloutLine } from '../protocol/rolloutLine.ts';
import { ownFormat } from './annotationFolder.ts';
import type { ExportOptions, ExportSummary, RolloutExport } from './rolloutExport.ts';
import type { RunContent, RunFault } from './runContent.ts';

const shownFaults = 20;

/** Milliseconds to work before yielding. */
const turnMs = 3;

/** Number of recent rollouts whose steps are kept for use in other rollouts. */
const keptDonors = 32;

/** Counts the items read, written and skipped, with reasons. */
export class ExportCount {
	read = 0;
	written = 0;
	unreadable = 0;
	readonly faults: RunFault[] = [];
	readonly #reasons = new Map<string, number>();

	leaveOut(reason: string): void {
		this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + 1);
	}

	fault(fault: RunFault): void {
		this.unreadable += fault.records;
		if (this.faults.length < shownFaults) this.faults.push(fault);
	}

	get leftOut(): { reason: string; count: number }[] {
		return [...this.#reasons].map(([reason, count]) => ({ reason, count })).sort((a, b) => b.count - a.count);
	}
}

const madeFrom = { rollouts: 'rollouts', labels: 'labeled rollouts', feedback: 'judged pairs' } as const;

const whatFirst: Readonly<Partial<Record<ExportSummary['what'], string>>> = {
	'labeled rollouts': 'Label steps in the rollouts panel first.',
	'judged pairs': 'Rate completions of the same prompt in the rollouts panel first.',
};

/**
 * Writes a file of lines atomically. Fails with `missing`, stating the reasons, if the file would be empty.
 * @param write appends lines and counts them
 */
export async function writeExport(
	run: { readonly folder: string; readonly format: string },
	as: ExportFormat,
	path: string,
	options: ExportOptions,
	write: (lines: AtomicLines, count: ExportCount) => Promise<ExportSummary['form']>,
	what: ExportSummary['what'] = madeFrom[exportFormatInfos[as].from],
): Promise<ExportSummary> {
	await keepOutOfForeign(run, path);
	const lines = await AtomicLines.open(path, options);
	const count = new ExportCount();
	try {
		const form = await write(lines, count);
		const { read, written, leftOut, unreadable, faults } = count;
		if (written === 0) {
			const why = leftOut.map((one) => leftOutText(one, what)).join(', ');
			throw new Failure(
				'missing',
				`Nothing to write to ${path}: ${read} ${what} checked${why === '' ? '' : `; skipped: ${why}`}${unreadable > 0 ? `; ${formatCounted(unreadable, 'record')} could not be read` : ''}.`,
				whatFirst[what] ?? 'Change the selection.',
			);
		}
		checkAborted(options.signal);
		await lines.commit();
		return { path, as, form, bytes: lines.bytes, read, what, written, leftOut, unreadable, faults };
	} finally {
		await lines.discard();
	}
}

/**
 * Formats a reason with its count, adding the item type unless the reason already names it: "40 rollouts without a
 * reward".
 */
export function leftOutText({ reason, count }: ExportSummary['leftOut'][number], what: ExportSummary['what']): string {
	return `${count} ${/^(?:groups|pairs) /.test(reason) ? '' : `${what} `}${reason}`;
}

/** Rejects output paths inside another trainer's run folder. */
async function keepOutOfForeign(
	run: { readonly folder: string; readonly format: string },
	path: string,
): Promise<void> {
	if (run.format === ownFormat) return;
	const real = async (folder: string): Promise<string> => {
		const found = await realpath(folder).catch(() => null);
		if (found !== null || dirname(folder) === folder) return found ?? folder;
		return join(await real(dirname(folder)), folder.slice(dirname(folder).length));
	};
	const root = await real(run.folder);
	if (!`${await real(dirname(path))}${sep}`.startsWith(root.endsWith(sep) ? root : `${root}${sep}`)) return;
	throw new Failure(
		'invalid',
		`${path} is inside another trainer's run folder, so nothing was written.`,
		'Choose another folder.',
	);
}

/** Exports rollouts from a run. Text is read in chunks, so memory use does not grow with the run. */
export function exportRollouts(
	run: RunContent,
	request: RolloutExport,
	path: string,
	options: ExportOptions,
): Promise<ExportSummary> {
	return writeExport(run, request.as, path, options, (lines, count) =>
		new Export(run, request, options, lines, count).write(),
	);
}

class Export {
	readonly #run: RunContent;
	readonly #request: RolloutExport;
	readonly #options: ExportOptions;
	readonly #lines: AtomicLines;
	readonly #count: ExportCount;
	readonly #test: (line: RolloutLine) => string | null;
	#form: TextForm | 'messages' | null;
	readonly #seen = new Set<string>();
	/** Thinking steps of the most recent rollouts. */
	readonly #donors: { readonly of: string; readonly steps: readonly string[] }[] = [];
	#done = 0;
	#total = 0;

	constructor(run: RunContent, request: RolloutExport, options: ExportOptions, lines: AtomicLines, count: ExportCount) {
		this.#run = run;
		this.#request = request;
		this.#options = options;
		this.#lines = lines;
		this.#count = count;
		this.#test = rolloutTest(request.selection);
		this.#form = request.form ?? null;
	}

	async write(): Promise<TextForm | 'messages' | null> {
		const { as, split, selection } = this.#request;
		const steps = (await this.#run.steps(split)).filter((step) => selectsStep(step, selection));
		this.#total = steps.length;
		const byGroup = as === 'dpo' || selection.bestPerGroup !== undefined;
		if (this.#request.perturb?.kind === 'insert-steps' && steps[0] !== undefined) await this.#gatherDonors(steps[0]);
		for (const step of steps) {
			await (byGroup ? this.#writeByGroup(step) : this.#writeOneByOne(step));
			this.#done++;
			this.#tell();
		}
		return this.#form;
	}

	#tell(): void {
		const { read, written } = this.#count;
		this.#options.onProgress?.({ done: this.#done, total: this.#total, read, written });
	}

	/**
	 * Yields the selected rollouts of a step.
	 * @param counted whether this pass updates the counts
	 */
	async *#selected(step: number, counted: boolean): AsyncGenerator<RolloutLine> {
		const { split } = this.#request;
		const opened = await this.#run.open(step, split).catch((error: unknown) => {
			if (error instanceof Failure && error.reason === 'missing') return null;
			throw error;
		});
		if (opened === null) return;
		let turn = performance.now();
		try {
			for await (const { rollout, fault } of opened.rollouts(this.#options.signal)) {
				if (rollout === null) {
					if (counted && fault !== null) this.#count.fault(fault);
					continue;
				}
				const read = this.#asRead(rollout);
				const why = this.#test(rollout) ?? (typeof read === 'string' ? read : null);
				if (counted) {
					this.#count.read++;
					if (why !== null) this.#count.leaveOut(why);
					if (this.#count.read % 256 === 0) this.#tell();
				}
				if (why === null && typeof read !== 'string') yield read;
				// Yield to other work on this thread.
				if (performance.now() - turn > turnMs) {
					await new Promise((resolve) => setImmediate(resolve));
					turn = performance.now();
				}
			}
		} finally {
			await opened.close();
		}
	}

	/**
	 * For another trainer's run, replaces the formatted prompt with the chat messages behind it. Cases keep the input
	 * that rewards received.
	 */
	#asRead(line: RolloutLine): RolloutLine | string {
		if (this.#run.format === ownFormat || this.#request.as === 'cases') return line;
		const read = withMessages(line);
		return typeof read === 'string' ? read : { ...line, ...read };
	}

	async #writeOneByOne(step: number): Promise<void> {
		for await (const rollout of this.#selected(step, true)) await this.#writeRollout(rollout);
	}

	/**
	 * Reads the numeric fields of all rollouts first, and then the text of the selected ones, because groups can be
	 * scattered throughout the file.
	 */
	async #writeByGroup(step: number): Promise<void> {
		const groups = new Map<number, Candidate[]>();
		for await (const line of this.#selected(step, true)) {
			if (line.reward === null || !Number.isFinite(line.reward)) {
				this.#count.leaveOut('without a reward');
				continue;
			}
			const text = typeof line.completion === 'string' ? line.completion : JSON.stringify(line.completion);
			const candidate = {
				index: line.index,
				reward: line.reward,
				// Our own runs record totals, and some algorithms' advantages do not compare completions of the same prompt.
				advantage: this.#run.format === ownFormat ? null : line.advantage,
				length: line.tokens?.text.length ?? [...messageText(line.completion)].length,
				text: textKey(text),
			};
			const group = groups.get(line.group);
			if (group === undefined) groups.set(line.group, [candidate]);
			else group.push(candidate);
		}
		if (this.#request.as === 'dpo') await this.#writePairs(step, groups);
		else await this.#writeBest(step, groups, this.#request.selection.bestPerGroup ?? 1);
	}

	async #writeBest(step: number, groups: ReadonlyMap<number, readonly Candidate[]>, best: number): Promise<void> {
		const chosen = new Map<number, Set<number>>();
		for (const [group, candidates] of groups) {
			const order = ranked(candidates);
			chosen.set(group, new Set(order.slice(0, best).map(({ index }) => index)));
			for (let n = order.length; n > best; n--)
				this.#count.leaveOut(`that are not among the best ${best} in their group`);
		}
		for await (const line of this.#selected(step, false)) {
			if (chosen.get(line.group)?.delete(line.index)) await this.#writeRollout(line);
		}
	}

	async #writePairs(step: number, groups: ReadonlyMap<number, readonly Candidate[]>): Promise<void> {
		const { pairing = {} } = this.#request;
		const partners = new Map<
			string,
			{
				readonly pair: { chosen: RolloutLine | null; rejected: RolloutLine | null };
				readonly side: 'chosen' | 'rejected';
			}
		>();
		for (const [group, candidates] of groups) {
			const { pairs, contradicted } = pairGroup(candidates, pairing);
			if (pairs.length === 0) this.#count.leaveOut(`groups ${whyUnpaired(candidates, pairing, contradicted)}`);
			for (let n = contradicted; n > 0; n--) {
				this.#count.leaveOut('pairs that rewards and recorded advantages rank differently');
			}
			for (const { chosen, rejected } of pairs) {
				const pair = { chosen: null, rejected: null };
				partners.set(`${group} ${chosen}`, { pair, side: 'chosen' });
				partners.set(`${group} ${rejected}`, { pair, side: 'rejected' });
			}
			for (let n = candidates.length - pairs.length * 2; n > 0 && pairs.length > 0; n--) {
				this.#count.leaveOut('that are not in any pair in their group');
			}
		}
		for await (const line of this.#selected(step, false)) {
			const key = `${line.group} ${line.index}`;
			const found = partners.get(key);
			if (found === undefined) continue;
			partners.delete(key);
			found.pair[found.side] = line;
			const { chosen, rejected } = found.pair;
			if (chosen === null || rejected === null) continue;
			this.#form ??= recordedForm(chosen);
			const pair = preferencePair(chosen, rejected, this.#form === 'standard' ? 'standard' : 'conversational');
			if (typeof pair === 'string') this.#count.leaveOut(`pairs ${pair}`);
			else await this.#append(pair);
		}
	}

	async #writeRollout(line: RolloutLine): Promise<void> {
		const { as, reward, caseReward, unique } = this.#request;
		if (as === 'cases') {
			const made = rewardCase(line, {
				...(reward === undefined ? {} : { reward }),
				...(caseReward === undefined ? {} : { of: caseReward }),
			});
			this.#form = 'standard';
			if (typeof made === 'string') this.#count.leaveOut(made);
			else await this.#append(made);
			return;
		}
		this.#form ??= recordedForm(line);
		const made = sftExample(line, { form: this.#form, ...this.#perturbing(line) });
		if (typeof made === 'string') {
			this.#count.leaveOut(made);
			return;
		}
		if (unique) {
			const key = textKey(JSON.stringify(made));
			if (this.#seen.has(key)) {
				this.#count.leaveOut('that duplicate an earlier one');
				return;
			}
			this.#seen.add(key);
		}
		await this.#append(made);
	}

	#perturbing(line: RolloutLine) {
		const { perturb, seed = 0, tags } = this.#request;
		if (perturb === undefined) return {};
		const of = keyOf(line);
		const donors = this.#donors.filter((one) => one.of !== of).flatMap(({ steps }) => steps);
		if (perturb.kind === 'insert-steps') this.#keepSteps(line);
		const random = Random.of(seed, perturb.kind, line.step ?? noStep, line.group, line.index);
		return { perturb: { perturbation: perturb, tags, random, donors } };
	}

	async #gatherDonors(step: number): Promise<void> {
		for await (const line of this.#selected(step, false)) {
			this.#keepSteps(line);
			if (this.#donors.length >= keptDonors) return;
		}
	}

	#keepSteps(line: RolloutLine): void {
		const of = keyOf(line);
		if (this.#donors.some((one) => one.of === of)) return;
		const text = messageText(line.completion);
		const thinking = parseTrace(text, this.#request.tags).think ?? '';
		const steps = stepsOf(thinking).map((one) => one.text);
		if (steps.length === 0) return;
		this.#donors.push({ of, steps: steps.slice(0, 50) });
		if (this.#donors.length > keptDonors) this.#donors.shift();
	}

	async #append(value: unknown): Promise<void> {
		await this.#lines.append(formatLine(value));
		this.#count.written++;
	}
}

const keyOf = ({ step, group, index }: RolloutLine) => `${step} ${group} ${index}`;

/** Hashes text to 64 bits, enough to distinguish the strings in one file without keeping them. */
const textKey = (text: string) => `${hashText(text)} ${hashText(text, 0x5bd1e995)} ${text.length}`;
