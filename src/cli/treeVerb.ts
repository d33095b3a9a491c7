import { basename, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { formatCounted } from '../base/format.ts';
import type { ReadTree } from '../core/search/formats/treeFormat.ts';
import { SearchTree } from '../core/search/searchTree.ts';
import { readTreeFile } from '../search/formats/readTreeFile.ts';
import { printable } from './cliOutput.ts';
import { integer } from './options.ts';
import { formatNumber } from './textForms.ts';
import { treeDrawing } from './treeDrawing.ts';
import { defineVerb } from './verb.ts';

/** Maximum number of trees listed per file; `--json` includes all of them. */
const maxListed = 20;

export const treeVerb = defineVerb({
	name: 'tree',
	group: 'Search and evaluate',
	arguments: [{ name: 'file', phrase: 'a file', type: 'path' }],
	summary: 'Show totals and a small diagram of a search tree from any tool.',
	options: { tree: integer('N', 'Tree to show, starting from 1 (default: 1).') },
	async run({ values, positionals, output }) {
		const path = resolve(positionals[0] as string);
		const file = await readTreeFile(path);
		const number = values.tree ?? 1;
		const chosen = file.trees[number - 1];
		if (chosen === undefined) {
			const { length } = file.trees;
			throw new Failure(
				'invalid',
				`${basename(path)} has ${formatCounted(length, 'tree')}, but --tree is ${number}.`,
				`Set --tree to a number from 1 to ${length}.`,
			);
		}
		const tree = treeOf(chosen);
		output.object({
			file: path,
			format: file.format,
			...describe(chosen, tree),
			tree: number,
			trees: file.trees.map((one) => describe(one)),
			faults: [...file.faults, ...file.trees.flatMap(({ name, faults }) => faults.map((fault) => `${name}: ${fault}`))],
		});
		if (output.json) return 0;
		output.line(`${file.title}${file.trees.length === 1 ? '' : `, ${formatCounted(file.trees.length, 'tree')}`}`);
		for (const [i, one] of file.trees.slice(0, file.trees.length === 1 ? 0 : maxListed).entries()) {
			output.line(`${i + 1 === number ? '> ' : '  '}${i + 1}. ${printable(one.name)}: ${summary(one)}`);
		}
		if (file.trees.length > maxListed) output.line(`  and ${file.trees.length - maxListed} more (use --json for all)`);
		if (file.trees.length === 1) output.line(summary(chosen));
		for (const line of searchLines(chosen)) output.line(printable(line));
		for (const fault of [...file.faults, ...chosen.faults]) output.line(`warning: ${printable(fault)}`);
		output.line('');
		for (const line of treeDrawing(tree, chosen.facts.best?.path ?? [], output.columns)) output.line(line);
		return 0;
	},
});

/** Summarizes a search from a log in our own format. */
function searchLines({ events }: ReadTree): string[] {
	const start = events[0];
	if (start?.t !== 'start' || start.foreign !== undefined) return [];
	const end = events.findLast(({ t }) => t === 'end' || t === 'resume');
	const line = `${start.strategy}, policy ${start.policy.name}`;
	if (end?.t !== 'end') return [`${line}; not finished`];
	const verdict = end.correct === true ? ' (correct)' : end.correct === false ? ' (incorrect)' : '';
	return [
		`${line}; answer ${end.answer ?? 'none'}${verdict}; ended: ${end.stop}; ${formatCounted(end.tokens, 'token')}`,
	];
}

function treeOf({ events }: ReadTree): SearchTree {
	const tree = new SearchTree();
	for (const event of events) tree.apply(event);
	return tree;
}

/**
 * Returns the JSON output. `best.path` contains node indices in tree-log order, and `best.text` contains the
 * corresponding text.
 */
function describe({ name, facts }: ReadTree, tree?: SearchTree) {
	const { nodes, depth, best, measure, counts } = facts;
	const text = best === null || tree === undefined ? {} : { text: best.path.map((id) => tree.node(id)?.text ?? '') };
	return { name, nodes, depth, best: best === null ? null : { ...best, ...text }, measure, counts };
}

function summary({ facts }: ReadTree): string {
	const { nodes, depth, best, measure, counts } = facts;
	const value = best === null ? 'no values' : `best ${measure ?? 'value'} ${formatNumber(best.value)}`;
	const more = Object.entries(counts)
		.filter(([, count]) => count !== 0)
		.map(([name, count]) => `${words(name)} ${count}`);
	return [formatCounted(nodes, 'node'), `depth ${depth}`, value, ...more].join(', ');
}

const words = (name: string): string => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
