import type { Message } from '../../../protocol/rolloutLine.ts';
import { messagesOf } from '../foreignMessages.ts';
import { type Fields, fieldsOf, listOf, numberOf, textOf } from '../foreignValues.ts';

/*
 * Rollouts in Tinker's logtree (tinker_cookbook/rl/{rollouts,problem_env}.py). Each group has a section in which every
 * attempt is logged once it has been scored, followed by the lengths and rewards of all trajectories in order. The log
 * does not record which attempt belongs to which trajectory, because attempts are logged as they finish. If rewards or
 * lengths show that the order differs, attempts with the same reward are distinguished by length.
 */

export interface LoggedText {
	/** 0-based section index. It is at least the group number, because groups can be filtered out. */
	readonly section: number;
	readonly prompt: readonly Message[];
	readonly completion: readonly Message[];
	readonly reward: number | null;
}

interface Attempt {
	readonly prompt: readonly Message[];
	readonly completion: readonly Message[];
	reward: number | null;
}

interface Turn {
	readonly observed: number | null;
	said: number | null;
	reward: number | null;
}

/** Data collected so far from a group's section. */
interface Section {
	prompt: readonly Message[];
	readonly attempts: Attempt[];
	/** Turns by trajectory. */
	readonly trajectories: Turn[][];
	/** Last table cell that is a key; its value is in the next cell. */
	key: string | null;
}

const deepest = 200;
const rounding = 6e-4;

/**
 * Returns a key for one turn of a trajectory: the trajectory's index in the group, and the lengths of the prompt and
 * the turn.
 */
export function turnKey(trajectory: number, observed: number | null, said: number | null): string {
	return `${trajectory} ${observed} ${said}`;
}

function* nodesBelow(node: unknown, depth = 0): Generator<Fields> {
	const fields = fieldsOf(node);
	if (!fields || depth > deepest) return;
	yield fields;
	for (const child of listOf(fields.children)) yield* nodesBelow(child, depth + 1);
}

const textIn = (node: Fields) => listOf(node.children).find((child) => typeof child === 'string') as string | undefined;
const isHeading = (node: Fields) => /^h[1-6]$/.test(textOf(node.tag) ?? '');

function* groupSections(root: unknown): Generator<Fields> {
	for (const node of nodesBelow(root)) {
		if (node.tag !== 'section') continue;
		const heading = listOf(node.children)
			.map(fieldsOf)
			.find((child) => child && isHeading(child));
		if (heading && textIn(heading) === 'Group Rollout') yield node;
	}
}

function take(section: Section, node: Fields): void {
	const data = fieldsOf(node.data);
	if (data?.type === 'conversation') takeConversation(section, messagesOf(data.messages) ?? []);
	else if (isHeading(node) && /^Trajectory \d+ Episode$/.test(textIn(node) ?? '')) section.trajectories.push([]);
	else if (node.tag === 'td') takeCell(section, textIn(node) ?? '');
}

function takeConversation(section: Section, messages: readonly Message[]): void {
	const last = messages.at(-1);
	if (last?.role !== 'assistant') {
		section.prompt = messages;
		return;
	}
	const first = messages.findLastIndex((message) => message.role !== 'assistant') + 1;
	const prompt = first > 0 ? messages.slice(0, first) : section.prompt;
	section.attempts.push({ prompt, completion: messages.slice(first), reward: null });
}

function takeCell(section: Section, text: string): void {
	const { key } = section;
	if (key === null) {
		section.key = text;
		return;
	}
	section.key = null;
	const value = text.trim() === '' ? null : numberOf(Number(text));
	const turns = section.trajectories.at(-1);
	if (!turns) {
		const attempt = section.attempts.at(-1);
		if (key === 'reward' && attempt && attempt.reward === null) attempt.reward = value;
		return;
	}
	const turn = turns.at(-1);
	if (key === 'ob_len') turns.push({ observed: value, said: null, reward: null });
	else if (turn && key === 'ac_len' && turn.said === null) turn.said = value;
	else if (turn && key === 'step_reward' && turn.reward === null) turn.reward = value;
}

const sizeOf = (attempt: Attempt) => JSON.stringify(attempt.completion).length;
const near = (a: number | null, b: number | null) => a === null || b === null || Math.abs(a - b) < rounding;
/** Maximum factor by which the characters per token of a completion can differ from the rest of its group. */
const oddest = 1.5;

/** Returns whether the attempts, in logged order, match the trajectories in reward and length. */
function inOrder(attempts: readonly Attempt[], turns: readonly (Turn | undefined)[]): boolean {
	const perToken = attempts.map((attempt, place) => sizeOf(attempt) / Math.max(1, turns[place]?.said ?? 1));
	const usual = perToken.toSorted((a, b) => a - b)[Math.floor(perToken.length / 2)] ?? 1;
	return attempts.every((attempt, place) => {
		const ratio = (perToken[place] ?? usual) / usual;
		return near(attempt.reward, turns[place]?.reward ?? null) && ratio < oddest && ratio > 1 / oddest;
	});
}

/** Returns attempts in trajectory order, with null where the assignment is unknown. */
function assigned(section: Section): (Attempt | null)[] {
	const turns = section.trajectories.map((trajectory) => (trajectory.length === 1 ? trajectory[0] : undefined));
	if (turns.includes(undefined) || turns.length !== section.attempts.length) return turns.map(() => null);
	if (inOrder(section.attempts, turns)) return section.attempts;
	const found = turns.map((): Attempt | null => null);
	const rewards = new Set(turns.map((turn) => turn?.reward ?? null));
	for (const reward of rewards) {
		const places = [...turns.keys()].filter((place) => (turns[place]?.reward ?? null) === reward);
		const attempts = section.attempts.filter((attempt) => near(attempt.reward, reward));
		if (attempts.length !== places.length) continue;
		places.sort((a, b) => (turns[a]?.said ?? 0) - (turns[b]?.said ?? 0));
		attempts.sort((a, b) => sizeOf(a) - sizeOf(b));
		for (const [index, place] of places.entries()) found[place] = attempts[index] ?? null;
	}
	return found;
}

/** Returns the text in a logtree, keyed by trajectory, with several candidates if sections cannot be distinguished. */
export function loggedTexts(record: unknown): Map<string, LoggedText[]> {
	const texts = new Map<string, LoggedText[]>();
	let number = 0;
	for (const node of groupSections(fieldsOf(record)?.root ?? record)) {
		const section: Section = { prompt: [], attempts: [], trajectories: [], key: null };
		for (const inner of nodesBelow(node)) take(section, inner);
		for (const [trajectory, attempt] of assigned(section).entries()) {
			const turn = section.trajectories[trajectory]?.[0];
			if (!attempt || !turn) continue;
			const key = turnKey(trajectory, turn.observed, turn.said);
			const { prompt, completion } = attempt;
			const text = { section: number, prompt, completion, reward: turn.reward };
			texts.set(key, [...(texts.get(key) ?? []), text]);
		}
		number++;
	}
	return texts;
}

/** Returns the text of a trajectory in a group, or null if it was not logged or is ambiguous. */
export function textOfTurn(
	texts: unknown,
	group: number,
	reward: number | null,
): Pick<LoggedText, 'prompt' | 'completion'> | null {
	const candidates = (listOf(texts) as LoggedText[]).filter(
		(text) => text.section >= group && near(text.reward, reward),
	);
	return (
		candidates.find((text) => text.section === group) ?? (candidates.length === 1 ? (candidates[0] ?? null) : null)
	);
}
