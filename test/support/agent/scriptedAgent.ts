/**
 * An agent with a fixed policy instead of a model. It knows runs only through the tools of an MCP server, called with an
 * unmodified client, and solves the tasks that a person would give an agent.
 */
import type { Client } from '@modelcontextprotocol/client';

type Answer = Record<string, unknown>;
type Items = readonly Answer[];
type Cell = string | number | boolean | null;
/** A cell as the server returns it, with text marked as quoted. */
type Marked = Exclude<Cell, string> | { readonly quoted_text: string };

const plain = (cell: Marked): Cell => (typeof cell === 'object' && cell !== null ? cell.quoted_text : cell);

/** One of the agent's conclusions, with citations. */
export interface Conclusion {
	readonly text: string;
}

export class ScriptedAgent {
	readonly #client: Client;
	/** Tools that were called, in order. */
	readonly calls: string[] = [];

	constructor(client: Client) {
		this.#client = client;
	}

	/** Calls a tool. Throws the text of a failed call. */
	async call(name: string, args: Answer): Promise<Answer> {
		this.calls.push(name);
		const { content, structuredContent, isError } = await this.#client.callTool(
			{ name, arguments: args },
			{ timeout: 600_000 },
		);
		const [block] = content;
		if (isError) throw new Error(block?.type === 'text' ? block.text : 'The call failed.');
		return structuredContent as Answer;
	}

	/** Returns all items of a paged tool. */
	async pages(name: string, args: Answer): Promise<Items> {
		const all: Answer[] = [];
		for (let cursor: number | undefined = 0; cursor !== undefined; ) {
			const answer: Answer = await this.call(name, { ...args, cursor });
			all.push(...(answer.items as Items));
			cursor = answer.next_cursor as number | undefined;
		}
		return all;
	}

	async rows(run: string, sql: string): Promise<{ rows: readonly Cell[][]; addresses: readonly string[] }> {
		const { items, addresses = [] } = await this.call('query', { sql, runs: [run], limit: 200 });
		const rows = (items as Marked[][]).map((row) => row.map(plain));
		return { rows, addresses: addresses as string[] };
	}

	/**
	 * Finds the step from which rewards rise without correct answers: where the gap between the mean reward and the
	 * fraction of correct answers begins to rise.
	 */
	async findHack(run: string): Promise<Conclusion & { readonly step: number; readonly evidence: string }> {
		const { rows } = await this.rows(
			run,
			`select step, avg(reward), avg(correct::int) from rollouts where run = '${run}' and split = 'train' group by step order by step`,
		);
		const gaps = rows.map(([step, reward, correct]) => ({ step: Number(step), gap: Number(reward) - Number(correct) }));
		const step = changePoint(gaps);
		// The highest-reward completions without a correct answer show what the hack is.
		const { rows: hacked, addresses } = await this.rows(
			run,
			`select run, split, step, group_id, "index", reward from rollouts where run = '${run}' and step = ${step} and correct = false order by reward desc, group_id, "index" limit 1`,
		);
		const [address = ''] = addresses;
		const reward = hacked[0]?.[5];
		const { group, completion } = placeOf(address);
		const read = await this.call('read_completion', { run, step, group, completion });
		if (read.reward !== reward) throw new Error(`${address} has reward ${read.reward}, not ${reward}`);
		return {
			...{ step, evidence: address },
			text: `The reward hack begins at step ${step}: a wrong answer there earns [${reward}](${address}).`,
		};
	}

	/** Identifies the recipe key that made KL explode early in the run, and its line. */
	async findKlCause(run: string): Promise<Conclusion & { readonly key: string; readonly line: number }> {
		const { items } = await this.call('read_metrics', { run, names: ['kl'], as: 'table', points: 2000, limit: 200 });
		const kl = (items as unknown as [number, number | null][]).flatMap(([step, value]) =>
			value === null ? [] : [{ step, value }],
		);
		const exploded = kl.find(({ value }) => value > 0.5);
		if (exploded === undefined) throw new Error('KL did not explode');
		const { findings } = await this.call('diagnose_run', { run });
		const cause = (findings as Items).find(
			(finding) => (finding.metrics as string[]).includes('kl') && finding.recipe_line !== undefined,
		);
		if (cause === undefined) throw new Error(`no finding explains KL: ${JSON.stringify(findings)}`);
		const { key, line, text, address } = cause.recipe_line as {
			key: string;
			line: number;
			text: { quoted_text: string };
			address: string;
		};
		// The key must exist in recipes, and the file must contain what the finding quotes.
		await this.call('explain_recipe_key', { key: key.replace(/\.\d+\./, '.') });
		const lines = await this.pages('read_recipe', { run, limit: 100 });
		const stated = (lines[line - 1]?.text as { quoted_text: string } | undefined)?.quoted_text.trim();
		if (stated !== text.quoted_text) throw new Error(`line ${line} is ${stated}`);
		return {
			...{ key, line },
			text: `KL is [${exploded.value}](rl://${run}/metric/kl?step=${exploded.step}) at step ${exploded.step}, because of \`${key}\` in line ${line} of ${address}.`,
		};
	}

	/** Finds the rollouts on which two rewards disagree: one gives more than half of its largest value, the other less. */
	async findDisagreements(run: string): Promise<Conclusion & { readonly addresses: readonly string[] }> {
		const { rows: names } = await this.rows(
			run,
			`select name, max(value) from reward_components where run = '${run}' group by name order by name`,
		);
		if (names.length !== 2) throw new Error(`${run} has ${names.length} rewards`);
		const [high, low] = names.map(([name, max]) => `rewards['${name}'] > ${Number(max) / 2}`);
		const where = `run = '${run}' and (${high}) <> (${low})`;
		const addresses: string[] = [];
		for (;;) {
			const page = await this.rows(
				run,
				`select run, split, step, group_id, "index" from rollouts where ${where} order by step, group_id, "index" limit 50 offset ${addresses.length}`,
			);
			addresses.push(...page.addresses);
			if (page.rows.length < 50) break;
		}
		const [first = ''] = addresses;
		const { group, completion, step } = placeOf(first);
		const { rewards } = await this.call('read_completion', { run, step, group, completion });
		const said = Object.entries((rewards as { quoted_text: object }).quoted_text).map(
			([name, value]) => `${name} [${value}](${first})`,
		);
		return {
			addresses,
			text: `The rewards disagree on ${addresses.length} rollouts, the first in step ${step}: ${said.join(', ')}.`,
		};
	}

	/** Picks the better of the two evaluated checkpoints of a run, or none if a test finds no difference. */
	async pickCheckpoint(run: string): Promise<Conclusion & { readonly step: number | null; readonly p: number }> {
		const evaluations = (await this.pages('list_evaluations', { run })).filter(({ of }) => of === 'checkpoint');
		if (evaluations.length !== 2) throw new Error(`${run} has ${evaluations.length} evaluated checkpoints`);
		const [first, second] = evaluations.map(({ evaluation }) => ({ run, evaluation }));
		const compared = await this.call('compare_evaluations', { first, second });
		const better = compared.better as 'first' | 'second' | null;
		const shown = evaluations.map(({ step, address }, i) => {
			const { accuracy } = compared[i === 0 ? 'first' : 'second'] as { accuracy: number };
			return `step ${step} solves [${(100 * accuracy).toFixed(1)}%](${address})`;
		});
		const chosen = better === null ? null : evaluations[better === 'first' ? 0 : 1];
		const p = compared.p as number;
		const verdict =
			chosen === null || chosen === undefined ? 'the difference is not significant' : `step ${chosen.step} is better`;
		return {
			...{ p, step: (chosen?.step as number | undefined) ?? null },
			text: `Of the checkpoints, ${shown.join(' and ')}; ${verdict} ([p = ${p.toPrecision(2)}](${compared.address})).`,
		};
	}

	/** Writes the conclusions as a report and returns its text as it was stored. */
	async writeReport(run: string, name: string, conclusions: readonly Conclusion[]): Promise<string> {
		const text = `# Findings\n\n${conclusions.map((one) => `- ${one.text}`).join('\n')}\n`;
		const checked = await this.call('check_citations', { text, only_problems: true });
		if (checked.sound !== true) throw new Error(JSON.stringify(checked.items));
		const written = await this.call('write_report', { run, name, text });
		const { contents } = await this.#client.readResource({ uri: written.address as string });
		const [part] = contents;
		return part !== undefined && 'text' in part ? part.text : '';
	}
}

interface Gap {
	readonly step: number;
	readonly gap: number;
}

/** Largest statistic of {@link bestSplit} that noise can explain. */
const noise = 25;

/**
 * Returns the step at which the gap begins to rise. Starts from the best split and moves to the best split of what
 * precedes it for as long as that is more than noise, because a hack spreads slowly.
 */
function changePoint(gaps: readonly Gap[]): number {
	let { step, at } = bestSplit(gaps);
	for (;;) {
		const earlier = bestSplit(gaps.slice(0, at));
		if (earlier.statistic <= noise) return step;
		({ step, at } = earlier);
	}
}

/** Returns the rise that explains the most variance (least squares), with its F statistic; 0 if there is no rise. */
function bestSplit(gaps: readonly Gap[]): { at: number; step: number; statistic: number } {
	const total = gaps.reduce((sum, { gap }) => sum + gap, 0);
	const squares = gaps.reduce((sum, { gap }) => sum + (gap - total / gaps.length) ** 2, 0);
	let before = 0;
	let best = { at: 0, step: gaps[0]?.step ?? 0, statistic: 0 };
	for (const [at, { gap, step }] of gaps.entries()) {
		if (at > 0) {
			const [left, right] = [before / at, (total - before) / (gaps.length - at)];
			const explained = ((at * (gaps.length - at)) / gaps.length) * (right - left) ** 2;
			const residual = Math.max(1e-12, squares - explained) / Math.max(1, gaps.length - 2);
			const statistic = explained / residual;
			if (right - left > 1e-9 && statistic > best.statistic) best = { at, step, statistic };
		}
		before += gap;
	}
	return best;
}

function placeOf(address: string): { step: number; group: number; completion: number } {
	const match = /\/step\/(\d+)\/group\/(\d+)\/completion\/(\d+)/.exec(address);
	if (match === null) throw new Error(`"${address}" is not the address of a completion`);
	const [step, group, completion] = match.slice(1).map(Number) as [number, number, number];
	return { step, group, completion };
}
