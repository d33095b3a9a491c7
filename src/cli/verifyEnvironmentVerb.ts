import { formatCounted } from '../base/format.ts';
import { environmentLine, isSoundEnvironment } from '../core/episode/environmentSummary.ts';
import { verifyEnvironment } from '../episodes/verifyEnvironment.ts';
import type { EnvironmentVerification } from '../protocol/environmentVerification.ts';
import { printable } from './cliOutput.ts';
import { environmentOptions, environmentPlace, withEnvironment } from './environmentArguments.ts';
import { defineVerb } from './verb.ts';

export const verifyEnvironmentVerb = defineVerb({
	name: 'verify-environment',
	group: 'Environments',
	arguments: [{ name: 'environment', phrase: 'an environment file, folder, package, or server address', type: 'path' }],
	summary:
		'Play episodes with solutions, random calls, no calls, and invalid calls. Exits with status 1 if an error is found.',
	options: environmentOptions,
	async run({ values, positionals, output }) {
		return await withEnvironment(positionals[0] as string, values, output, async ({ runner, data, ...options }) => {
			const verification = await verifyEnvironment(runner, data, options);
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
