import { equivalentAnswers } from '../core/search/answerClasses.ts';
import type { StopReason } from '../protocol/treeLog.ts';
import { OpenSearch } from '../search/openSearch.ts';
import { printable } from './cliOutput.ts';
import { cliSearchContext } from './cliSearchContext.ts';
import { onInterrupt } from './interrupts.ts';
import { searchOptions, searchSpecOf } from './searchArguments.ts';
import { problemOf, problemOptions } from './searchVerb.ts';
import { defineVerb } from './verb.ts';

export const solveVerb = defineVerb({
	name: 'solve',
	group: 'Search and evaluate',
	usage: '<problem> --policy P [options]',
	arguments: [{ name: 'problem', phrase: 'a problem', type: 'text', optional: true }],
	summary: 'Print only the answer to one problem, without writing a log. Exits with status 1 if no answer is found.',
	options: { ...problemOptions, ...searchOptions },
	async run({ values, positionals, output, engine, args }) {
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
});

function whyNone(stop: StopReason, nodes: number): string {
	if (stop === 'complete' || stop === 'solved' || stop === 'exhausted') {
		return nodes === 0 ? 'the policy returned no text.' : 'no completion has an answer between its answer tags.';
	}
	return stop === 'stopped'
		? 'stopped before an answer was found.'
		: `the ${stop} budget was exhausted before an answer was found.`;
}
