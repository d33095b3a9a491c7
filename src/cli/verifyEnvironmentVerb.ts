import { formatCounted } from '../base/format.ts';
import { environmentLine, isSoundEnvironment } from '../core/episode/environmentSummary.ts';
import { verifyEnvironment } from '../episodes/verifyEnvironment.ts';
import type { EnvironmentVerification } from '../protocol/environmentVerification.ts';
import type { PolicySpec } from '../protocol/policySpec.ts';
import type { SearchEnvironment } from '../protocol/searchSpec.ts';
import { printable } from './cliOutput.ts';
import { cliSearchContext } from './cliSearchContext.ts';
import { environmentOptions, environmentPlace, withEnvironment } from './environmentArguments.ts';
import { environmentOf } from './episodeSearchArguments.ts';
import { policyOf, policyOptions } from './searchArguments.ts';
import { defineVerb } from './verb.ts';

export const verifyEnvironmentVerb = defineVerb({
	name: 'verify-environment',
	group: 'Environments',
	arguments: [{ name: 'environment', phrase: 'an environment file, folder, package, or server address', type: 'path' }],
	summary:
		'Play episodes with solutions, random calls, no calls, invalid calls, and a policy, if given. Exits with status 1 if an error is found.',
	options: { ...environmentOptions, ...policyOptions },
	async run({ values, positionals, output, engine, args }) {
		const written = positionals[0] as string;
		const policy = values.policy === undefined ? null : await policyOf(values);
		return await withEnvironment(written, values, output, async ({ runner, data, ...options }) => {
			const trained = async (rows: typeof data.rows) => {
				const context = cliSearchContext(engine, args);
				try {
					const environment = (await environmentOf({ ...values, environment: written })) as SearchEnvironment;
					const { policyEpisodes } = await import('../search/episodes/policyEpisodes.ts');
					const asked = { policy: policy as PolicySpec, environment, seed: options.seed };
					const { name, episodes } = await policyEpisodes(asked, rows, context, options.signal);
					output.line(printable(`policy: ${name}`));
					return episodes;
				} finally {
					context.pool.dispose();
				}
			};
			const more = policy === null ? options : { ...options, trained };
			const verification = await verifyEnvironment(runner, data, more);
			output.object(verification);
			for (const line of reportOf(verification)) output.line(printable(line));
			return isSoundEnvironment(verification) ? 0 : 1;
		});
	},
});

function reportOf(verification: EnvironmentVerification): string[] {
	const { environment, findings, file, dataset, rows, solvable, remarks, episodes, labeled } = verification;
	const data = dataset === null ? [] : [`on ${formatCounted(rows, 'row')} of ${dataset}, ${solvable} with a solution`];
	const failed = episodes.filter(({ error }) => error !== undefined).length;
	const { library } = environment;
	const place = (line: number) => (library === undefined ? environmentPlace(file, line) : environment.name);
	return [
		`${environment.name}: ${environmentLine(verification)}`,
		...(library === undefined ? [] : [`from ${library}`]),
		...labeled.flatMap(({ label, difference }) => (difference === null ? [`passed: ${label}`] : [])),
		...remarks,
		...findings.map(({ line, level, message, action, file: other }) => {
			const at = other === undefined ? place(line) : environmentPlace(other, line);
			return `${at}: ${level}: ${message}${action === undefined ? '' : ` ${action}`}`;
		}),
		...data,
		...(failed === 0 ? [] : [`${failed} of ${formatCounted(episodes.length, 'episode')} failed`]),
		...(isSoundEnvironment(verification) ? [] : ['Failed.']),
	];
}
