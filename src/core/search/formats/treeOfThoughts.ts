import { formatCounted } from '../../../base/format.ts';
import { crosswordsTree, isCrosswordsLog } from './crosswords.ts';
import { field, finite, isTable, listField, numberField } from './foreignJson.ts';
import { statedIn } from './statedIn.ts';
import { TreeBuilder } from './treeBuilder.ts';
import type { ReadTree, TreeFault, TreeFormat, TreeLimits } from './treeFormat.ts';

/**
 * princeton-nlp/tree-of-thought-llm: a list of puzzles. `solve` (src/tot/methods/bfs.py) does not log a tree. For each
 * step, it logs the thoughts that were extended (`ys`), the candidates generated from them (`new_ys`, each including
 * all preceding text), their `values`, and the selection (`select_new_ys`). Sampling without a tree (`naive_solve`)
 * logs only the samples. The DFS log for crosswords is a list of lists of visits.
 */
export const treeOfThoughtsFormat: TreeFormat = {
	name: 'tree-of-thoughts',
	title: 'Tree of Thoughts',
	looksFor: 'Tree of Thoughts: a list of puzzles with ys and steps, or of lists of visits with actions',
	recognize: (value) => Array.isArray(value) && value.length > 0 && (value.some(isPuzzle) || isCrosswordsLog(value)),
	trees(value, limits) {
		const entries = Array.isArray(value) ? value : [];
		const read: (ReadTree | TreeFault)[] = [];
		const crosswords = isCrosswordsLog(entries);
		let left = limits.nodes;
		let before: unknown;
		for (const [i, entry] of entries.slice(0, limits.trees).entries()) {
			const own = { ...limits, nodes: left };
			const tree = crosswords ? crosswordsTree(entry, `puzzle ${i}`, own) : puzzleTree(entry, i, before, own);
			if ('facts' in tree) left = Math.max(1, left - tree.facts.nodes - 1);
			read.push(tree);
			before = entry;
		}
		if (entries.length > limits.trees) {
			read.push({
				name: 'the file',
				fault: `has ${formatCounted(entries.length, 'puzzle')}; the first ${limits.trees} are shown`,
			});
		}
		return read;
	},
};

const isPuzzle = (value: unknown): boolean =>
	listField(value, 'ys') !== null && (listField(value, 'steps') !== null || isTable(field(value, 'usage_so_far')));

/** Maximum number of characters to compare when finding a candidate's parent. Guards against adversarial files. */
const maxCompared = 200_000_000;

function puzzleTree(value: unknown, place: number, before: unknown, limits: TreeLimits): ReadTree | TreeFault {
	const idx = numberField(value, 'idx');
	const name = idx === null ? `puzzle ${place}` : `puzzle ${idx}`;
	const finals = listField(value, 'ys');
	if (!isTable(value) || finals === null) return { name, fault: 'has no ys' };
	const steps = listField(value, 'steps');
	const prompt = (steps ?? []).map((step) => field(step, 'x')).find((x) => typeof x === 'string');
	const tree = new TreeBuilder({
		format: treeOfThoughtsFormat.name,
		name,
		strategy: steps === null ? 'naive' : 'tree-of-thoughts-bfs',
		prompt: (prompt as string | undefined) ?? name,
		structure: 'tree',
		measure: 'value',
	});
	const root = tree.node({ parents: [], text: (prompt as string | undefined) ?? '', label: name });
	const grades = gradesOf(value);
	let result: Candidate | null = null;
	if (steps === null) addSamples(tree, root, finals, grades, limits);
	else result = addSteps(tree, root, steps, finals, grades, limits);
	if (grades.length > 0) tree.count('solved', grades.filter((grade) => grade >= 1).length);
	const used = (what: string): number | null => {
		const [now, then] = [field(value, 'usage_so_far'), field(before, 'usage_so_far')].map((usage) =>
			numberField(usage, what),
		);
		return now === null || now === undefined ? null : Math.max(0, now - (then ?? 0));
	};
	return tree.done({
		...(result === null ? {} : { result: result.id, answer: statedIn(result.text) }),
		tokens: used('completion_tokens') ?? 0,
		promptTokens: used('prompt_tokens'),
	});
}

/**
 * Returns whether each final text is correct, if recorded: `infos` with `r`, or `accs` in older logs, where 0 means
 * unknown.
 */
function gradesOf(value: unknown): number[] {
	const grades = (listField(value, 'infos') ?? []).map((info) => numberField(info, 'r'));
	const older = listField(value, 'accs') ?? [];
	if (grades.length === 0 && !older.some((acc) => acc === true || acc === false)) return [];
	return grades.length > 0 ? grades.map((grade) => grade ?? 0) : older.map((acc) => (acc === true ? 1 : 0));
}

function addSamples(
	tree: TreeBuilder,
	root: number,
	samples: readonly unknown[],
	grades: readonly number[],
	limits: TreeLimits,
): void {
	for (const [i, text] of samples.slice(0, Math.max(0, limits.nodes - 1)).entries()) {
		if (typeof text !== 'string') {
			tree.fault(`Sample ${i} is not a string.`);
			continue;
		}
		const id = tree.node({ parents: [root], text, final: true, answer: statedIn(text) });
		const grade = grades[i];
		if (grade !== undefined) {
			tree.score(id, 'correct', grade);
			tree.value(id, grade);
		}
	}
	tree.count('samples', samples.length);
	if (samples.length >= limits.nodes) tree.fault(`Showing the first ${limits.nodes - 1} samples.`);
}

interface Candidate {
	readonly id: number;
	readonly text: string;
	/** 0 if there is no value. */
	readonly value: number;
	readonly valued: boolean;
}

function addSteps(
	tree: TreeBuilder,
	root: number,
	steps: readonly unknown[],
	finals: readonly unknown[],
	grades: readonly number[],
	limits: TreeLimits,
): Candidate | null {
	let open: Candidate[] = [{ id: root, text: '', value: 0, valued: false }];
	let kept: Candidate[] = [];
	let orphans = 0;
	let left = 0;
	let compared = 0;
	for (const [i, step] of steps.entries()) {
		tree.at = i;
		const texts = listField(step, 'new_ys');
		if (texts === null) {
			tree.fault(`Step ${i} has no new_ys.`);
			continue;
		}
		const values = listField(step, 'values') ?? [];
		const last = i === steps.length - 1;
		const made: Candidate[] = [];
		for (const [k, text] of texts.entries()) {
			if (typeof text !== 'string') {
				tree.fault(`Candidate ${k} of step ${i} is not a string.`);
				continue;
			}
			if (tree.nodes >= limits.nodes) {
				left++;
				continue;
			}
			let parent: Candidate | null = null;
			for (const candidate of compared > maxCompared ? [] : open) {
				compared += candidate.text.length + 1;
				if ((parent === null || candidate.text.length > parent.text.length) && text.startsWith(candidate.text)) {
					parent = candidate;
				}
			}
			if (parent === null) orphans++;
			const id = tree.node({
				parents: [parent?.id ?? root],
				text: text.slice(parent?.text.length ?? 0),
				final: last,
				answer: last ? statedIn(text) : null,
			});
			const value = finite(values[k]);
			if (value !== null) {
				tree.score(id, 'value', value);
				tree.value(id, value);
			}
			made.push({ id, text, value: value ?? 0, valued: value !== null });
		}
		kept = chosen(made, listField(step, 'select_new_ys') ?? []);
		const on = new Set(kept.map(({ id }) => id));
		for (const { id } of kept) tree.select(tree.pathTo(id));
		for (const { id } of made) if (!on.has(id)) tree.prune(id, 'not selected');
		if (kept.length > 0) open = kept;
	}
	// The final texts are the selection from the last step, in order. The result is the first correct one, or the first
	// one if none are correct.
	let result = kept[0] ?? null;
	let right = false;
	const byText = Map.groupBy(kept, ({ text }) => text);
	for (const [i, text] of finals.entries()) {
		const node = typeof text === 'string' ? byText.get(text)?.shift() : undefined;
		const grade = grades[i];
		if (node === undefined || grade === undefined) continue;
		tree.score(node.id, 'correct', grade);
		// The last recorded value is displayed first.
		if (node.valued) tree.score(node.id, 'value', node.value);
		if (grade >= 1 && !right) result = node;
		right ||= grade >= 1;
	}
	tree.count('final', finals.length);
	if (orphans > 0) {
		tree.fault(`${formatCounted(orphans, 'candidate does', 'candidates do')} not extend an earlier thought.`);
	}
	if (left > 0) tree.fault(`Showing the first ${limits.nodes} nodes.`);
	return result;
}

/**
 * Returns the selected candidates. Among those with the same text, the one with the highest value comes first, because
 * duplicates get a value of 0.
 */
function chosen(made: readonly Candidate[], selected: readonly unknown[]): Candidate[] {
	const byText = Map.groupBy(made, ({ text }) => text);
	for (const list of byText.values()) list.sort((a, b) => a.value - b.value || b.id - a.id);
	return selected
		.map((text) => (typeof text === 'string' ? byText.get(text)?.pop() : undefined))
		.filter((candidate) => candidate !== undefined);
}
