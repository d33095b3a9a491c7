import { fillPrompt } from '../search/prompts/fillPrompt.ts';
import type { AgentTool } from './agentTool.ts';
import type { CitationCheck } from './citations.ts';
import { type Critique, itemsOf } from './criticism.ts';
import type { Evidence, ToolRun } from './evidence.ts';

/**
 * Task prompt (Shinn et al. 2023, extended with tools as in the LangGraph tutorial). Placeholders: {words}, {ask},
 * {form}, {question}.
 */
const taskPrompt = `You are a careful researcher. Work on the question below.

1. Answer it as well as you can, in about {words} words.
2. Criticize your answer severely: what is missing from it, and what is superfluous? Use an empty list if there is nothing.
3. {ask}

Reply with one JSON object and nothing else:
{form}

Question:
{question}`;

const queryForm = '[{"tool": "name of a tool", "query": "..."}]';
const draftForm = (queries: string) =>
	`{"answer": "...", "reflection": {"missing": ["..."], "superfluous": ["..."]}, "search_queries": ${queries}}`;
const revisionForm = (queries: string) =>
	`{"answer": "...", "reflection": {"missing": ["..."], "superfluous": ["..."]}, "search_queries": ${queries}, "references": ["S1", "S2"]}`;

/** Placeholders: {evidence}, {failures}, {checks}, {critique}, {words}, {form}. */
const revisePrompt = `{evidence}{failures}{checks}{critique}Revise your answer.

- Use the sources to add what is missing, and remove what is superfluous. Write about {words} words.
- Every statement based on a source must cite it with a number in brackets, such as [1]. List the marks of the sources in "references", in the order of the numbers: [1] refers to the first one.
- Cite a source only for what it says. Do not state numbers that appear in none of the sources unless you know them.
- Then criticize the new answer: a point that you do not repeat counts as resolved. Send further queries only where they would help.

Reply with the whole JSON object and nothing else:
{form}`;

export function draftInstruction(
	question: string,
	tools: readonly AgentTool[],
	how: { readonly words: number; readonly queries: number },
): string {
	const ask =
		tools.length === 0
			? 'There are no tools, so "search_queries" must be an empty list.'
			: `Query the tools for information that would improve it, with at most ${how.queries} queries. These are the tools:\n${toolList(tools)}`;
	const form = draftForm(tools.length === 0 ? '[]' : queryForm);
	return fillPrompt(taskPrompt, { words: how.words, ask, form, question });
}

const toolList = (tools: readonly AgentTool[]): string =>
	tools.map(({ name, description }) => `   - ${name}: ${description}`).join('\n');

export interface RevisionFacts {
	readonly evidence: readonly Evidence[];
	/** Queries in this round that returned no results. */
	readonly failed: readonly ToolRun[];
	/** Queries that were already sent in an earlier round. */
	readonly repeated: readonly string[];
	/** Citation check for the answer, or null if it has no citations. */
	readonly check: CitationCheck | null;
	/** null if there is no critique. */
	readonly critique: Critique | null;
	readonly tools: boolean;
	readonly words: number;
	/** Maximum number of characters of evidence to show. */
	readonly characters: number;
}

export function revisionInstruction(facts: RevisionFacts): string {
	const { critique, failed, repeated, check } = facts;
	const failures = [
		...failed.map(({ tool, query, error }) => `- ${tool} ${quoted(query)}: ${error ?? 'no result'}`),
		...repeated.map((query) => `- ${quoted(query)}: was already sent, see above`),
	];
	const faults = [
		...(check?.references ?? [])
			.filter(({ supported }) => supported === false)
			.map(({ number, source, note }) => `- [${number}] (${source}): ${note}`),
		...(check?.dangling ?? []).map((number) => `- [${number}]: no such reference`),
	];
	const points = critique === null ? [] : itemsOf(critique);
	return fillPrompt(revisePrompt, {
		evidence: block('What the tools have found so far, each source with its mark:', evidenceText(facts)),
		failures: block('These queries returned nothing:', failures.slice(0, 20).join('\n')),
		checks: block('Unsupported citations in your answer:', faults.slice(0, 20).join('\n')),
		critique: block(
			'Your critique of your answer:',
			points.map(({ kind, text }, i) => `${i + 1}. ${kind}: ${text}`).join('\n'),
		),
		words: facts.words,
		form: revisionForm(facts.tools ? queryForm : '[]'),
	});
}

const block = (title: string, text: string): string => (text === '' ? '' : `${title}\n${text}\n\n`);
const quoted = (text: string): string => JSON.stringify(text.length > 200 ? `${text.slice(0, 199)}…` : text);

/**
 * Lists evidence newest first, because the latest queries matter most. Evidence beyond the limit is replaced by a note.
 */
function evidenceText({ evidence, characters }: RevisionFacts): string {
	const parts: string[] = [];
	let left = characters;
	for (const { mark, source, title, text } of [...evidence].reverse()) {
		const head = `[${mark}] ${source}${title === null ? '' : ` (${title})`}`;
		const room = Math.max(0, left - head.length - 2);
		if (room < 40 && parts.length > 0) {
			parts.push(`(${evidence.length - parts.length} earlier sources are omitted here; they can still be cited.)`);
			break;
		}
		const body = text.length > room ? `${text.slice(0, room)}…` : text;
		parts.push(`${head}\n${body}`);
		left -= head.length + body.length + 2;
	}
	return parts.join('\n\n');
}

/** Prompt to send when a reply is malformed. */
export const mendPrompt = (faults: string): string =>
	`Your reply is invalid:\n${faults}\n\nReply again with the whole JSON object and nothing else.`;
