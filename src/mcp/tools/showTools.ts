import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import { parseAddress } from '../../core/address/dataAddress.ts';
import { addressOfLink } from '../../core/address/openLink.ts';
import { comparedRuns } from '../../protocol/comparedRuns.ts';
import { addressFacts } from '../citations/addressFacts.ts';
import * as input from '../inputs.ts';
import { defineShowing } from '../tool.ts';

export const showInEditor = defineShowing({
	name: 'show_in_editor',
	title: 'Show in the editor',
	description:
		'Show data to the user in the editor immediately: an address (a metric in the dashboard at a step, a step, group, completion or token range in the rollouts, a tree node, a dataset row, a report), or a comparison of two to eight runs. Pass either address or compare. The user can go back.',
	input: v.object({
		address: v.optional(input.text('rl:// address, as in other responses.')),
		compare: v.optional(
			input.described(
				v.pipe(v.array(input.run), v.minLength(comparedRuns.min), v.maxLength(comparedRuns.max)),
				'Names of the runs to compare.',
			),
		),
	}),
	async run({ address, compare }, context) {
		const { editor, runs, signal } = context;
		if ((address === undefined) === (compare === undefined)) {
			throw new Failure('invalid', 'Pass either address or compare.');
		}
		if (compare !== undefined) {
			const folders = await Promise.all(compare.map(async (name) => (await runs.open(name)).content.folder));
			if (new Set(folders).size < comparedRuns.min) throw new Failure('invalid', 'These are all the same run.');
			await editor.show({ show: 'comparison', folders }, signal);
			return { shown: compare };
		}
		const wanted = addressOfLink(address as string) ?? (address as string);
		// Fails before the editor opens anything if the address does not exist.
		await addressFacts(parseAddress(wanted), context);
		await editor.show({ show: 'address', address: wanted }, signal);
		return { shown: wanted };
	},
});
