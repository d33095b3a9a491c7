import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Failure } from '../base/failure.ts';
import { didYouMean } from '../core/recipe/suggest.ts';
import { conflictsOf, copyTemplate, projectTemplates, templateFiles } from '../runs/projectTemplates.ts';
import { printable } from './cliOutput.ts';
import { parseArguments } from './parseArguments.ts';
import type { Verb } from './verb.ts';

/** media/templates: beside dist/, and beside src/ where the command line runs from source. */
function templatesFolder(): string {
	const up = import.meta.url.endsWith('.ts') ? '../../' : '../';
	return fileURLToPath(new URL(`${up}media/templates`, import.meta.url));
}

const names = projectTemplates.map(({ id }) => id).join(', ');

export const newVerb: Verb = {
	name: 'new',
	usage: '<folder>',
	summary: 'Make a project from a template: recipe, data, rewards.',
	options: [
		['--template NAME', `One of ${names} (default starter).`],
		['--keep', 'Leave files that are there as they are, and add the rest.'],
		['--replace', 'Replace files that are there.'],
	],
	async run({ args, output }) {
		const { values, positionals } = parseArguments(
			'new',
			args,
			{ template: { type: 'string' }, keep: { type: 'boolean' }, replace: { type: 'boolean' } },
			{ names: ['a folder'], least: 1, most: 1 },
		);
		const { template: named = 'starter', keep = false, replace = false } = values;
		const template = projectTemplates.find(({ id }) => id === named);
		if (template === undefined) {
			throw new Failure(
				'invalid',
				`--template is "${named}", which is none.`,
				didYouMean(
					named,
					projectTemplates.map(({ id }) => id),
				) ?? `Name one of ${names}.`,
			);
		}
		if (keep && replace) throw new Failure('invalid', '--keep and --replace cannot be given together.', 'Choose one.');
		const folder = resolve(positionals[0] as string);
		const files = await templateFiles(templatesFolder(), template.id);
		if (!keep && !replace) {
			const conflicts = await conflictsOf(files, folder);
			if (conflicts.length > 0) {
				throw new Failure(
					'exists',
					`${folder} already has ${conflicts.slice(0, 4).join(', ')}${conflicts.length > 4 ? ` and ${conflicts.length - 4} more` : ''}.`,
					'Choose another folder, or --keep or --replace them.',
				);
			}
		}
		await copyTemplate(files, folder, replace ? 'replace' : keep ? 'keep' : 'fail');
		const recipe = join(folder, template.recipe);
		output.object({ folder, template: template.id, recipe, files: files.map(({ path }) => path) });
		output.line(printable(`Made ${folder} with ${files.length} files.`));
		output.line(printable(`Start it: reasoning-lab run ${relative(process.cwd(), recipe) || recipe}`));
		return 0;
	},
};
