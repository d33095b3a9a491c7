import { equivalentAnswers } from '../core/search/answerClasses.ts';
import type { StopReason } from '../protocol/treeLog.ts';
import { OpenSearch } from '../search/openSearch.ts';
import { printable } from './cliOutput.ts';
import { cliSearchContext } from './cliSearchContext.ts';
import { onInterrupt } from './interrupts.ts';
import { parseArguments } from './parseArguments.ts';
import { searchOptionLines, searchOptions, searchSpecOf } from './searchArguments.ts';
import { problemOf, problemOptionLines, problemOptions } from './searchVerb.ts';
import type { Verb } from './verb.ts';

export const solveVerb: Verb = {
	name: 'solve',
	usage: '<problem> --policy P [--strategy S] [--reward R]',
	summary: 'Print the answer of one problem and nothing else; exit 1 when there is none. Leaves no log.',
	options: [...problemOptionLines, ...searchOptionLines],
	async run({ args, output, engine }) {
		const { values, positionals } = parseArguments(
			'solve',
			args,
			{ ...searchOptions, ...problemOptions },
			{ names: ['a problem'], least: 0, most: 1 },
		);
		const problem = await problemOf(values, positionals[0], 'solve');
		const spec = await searchSpecOf(values);
		const context = cliSearchContext(engine, args);
		const interrupt = new AbortController();
		const release = onInterrupt(() => interrupt.abort());
		try {
			const search = await OpenSearch.open(spec, context, interrupt.signal);
			try {
				const { outcome, totals, message, tree } = await search.run({ problem, signal: interrupt.signal }).result;
				const { best, answer, value, stop } = outcome;
				const text = (best ?? [])
					.slice(1)
					.map((id) => tree.node(id)?.text ?? '')
					.join('');
				const correct = problem.answer === null ? null : answer !== null && equivalentAnswers(problem.answer, answer);
				output.object({ answer, correct, value, text, stop, message, ...totals });
				if (answer !== null) output.line(printable(answer));
				if (answer === null) output.note(`No answer: ${printable(message ?? whyNone(stop, tree.nodeCount))}`);
				return answer === null ? 1 : 0;
			} finally {
				search.dispose();
			}
		} finally {
			context.pool.dispose();
			release();
		}
	},
};

function whyNone(stop: StopReason, nodes: number): string {
	if (stop === 'complete' || stop === 'solved' || stop === 'exhausted') {
		return nodes === 0 ? 'the policy wrote nothing.' : 'no completion states one between its answer tags.';
	}
	return stop === 'stopped'
		? 'stopped before there was one.'
		: `the budget of ${stop} was used up before there was one.`;
}
