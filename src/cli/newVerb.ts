import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Failure } from '../base/failure.ts';
import { formatCounted } from '../base/format.ts';
import { conflictsOf, copyTemplate, projectTemplates, templateFiles } from '../runs/projectTemplates.ts';
import { printable } from './cliOutput.ts';
import { choice, flag } from './options.ts';
import { defineVerb } from './verb.ts';

/** Path of media/templates, next to dist/, or next to src/ when the CLI runs from source. */
function templatesFolder(): string {
	const up = import.meta.url.endsWith('.ts') ? '../../' : '../';
	return fileURLToPath(new URL(`${up}media/templates`, import.meta.url));
}

const templateNames = projectTemplates.map(({ id }) => id);

export const newVerb = defineVerb({
	name: 'new',
	group: 'Train',
	arguments: [{ name: 'folder', phrase: 'a folder', type: 'path' }],
	summary: 'Create a project from a template, with a recipe, data, and rewards.',
	options: {
		template: choice(templateNames, 'NAME', 'Template to copy (default: starter).'),
		keep: flag('Keep existing files and add only missing ones.'),
		replace: flag('Replace existing files.'),
	},
	async run({ values, positionals, output }) {
		const { template: id = 'starter', keep = false, replace = false } = values;
		const template = projectTemplates.find((one) => one.id === id) as (typeof projectTemplates)[number];
		if (keep && replace)
			throw new Failure('invalid', '--keep and --replace cannot be combined.', 'Use only one of them.');
		const folder = resolve(positionals[0] as string);
		const files = await templateFiles(templatesFolder(), template.id);
		if (!keep && !replace) {
			const conflicts = await conflictsOf(files, folder);
			if (conflicts.length > 0) {
				throw new Failure(
					'exists',
					`${folder} already contains ${conflicts.slice(0, 4).join(', ')}${conflicts.length > 4 ? ` and ${conflicts.length - 4} more` : ''}.`,
					'Choose another folder, or use --keep or --replace.',
				);
			}
		}
		await copyTemplate(files, folder, replace ? 'replace' : keep ? 'keep' : 'fail');
		const recipe = join(folder, template.recipe);
		output.object({ folder, template: template.id, recipe, files: files.map(({ path }) => path) });
		output.line(printable(`Created ${folder} with ${formatCounted(files.length, 'file')}.`));
		output.line(printable(`To start training, run: reasoning-lab run ${relative(process.cwd(), recipe) || recipe}`));
		return 0;
	},
});
