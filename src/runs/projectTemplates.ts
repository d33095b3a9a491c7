import { constants } from 'node:fs';
import { copyFile, lstat, mkdir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Failure } from '../base/failure.ts';

/** A project template: a folder in media/templates. */
export interface ProjectTemplate {
	readonly id:
		| 'starter'
		| 'demo'
		| 'pytorch'
		| 'r1'
		| 'think'
		| 'expert-iteration'
		| 'algorithms'
		| 'curriculum'
		| 'no-labels'
		| 'environments';
	readonly label: string;
	readonly detail: string;
	/** Recipe to open after the project has been created. */
	readonly recipe: string;
}

export const projectTemplates: readonly ProjectTemplate[] = [
	{
		id: 'starter',
		label: 'Your own problems',
		detail: 'A recipe, a sample dataset of short calculations to replace with your own, and rewards to customize.',
		recipe: 'starter.recipe.json',
	},
	{
		id: 'demo',
		label: 'Addition demo',
		detail: 'Generated sums: no setup, and results in a few minutes.',
		recipe: 'addition.recipe.json',
	},
	{
		id: 'pytorch',
		label: 'Pretrained model (PyTorch)',
		detail: 'GRPO with TRL on a local or Hub model, plus a small recipe that runs on any machine.',
		recipe: 'small.recipe.json',
	},
	{
		id: 'r1',
		label: 'DeepSeek-R1 in minutes',
		detail: 'A pipeline: R1-Zero alongside the four stages of R1 and a distilled student, on small local models.',
		recipe: 'r1.recipe.json',
	},
	{
		id: 'think',
		label: 'Thinking that grows',
		detail: 'A pipeline: R1-Zero on problems that take several tries, with controls and truncated thinking.',
		recipe: 'think.recipe.json',
	},
	{
		id: 'expert-iteration',
		label: 'Expert iteration',
		detail: 'A pipeline with a loop: search, train on correct solutions, repeat until search adds little.',
		recipe: 'expert-iteration.recipe.json',
	},
	{
		id: 'algorithms',
		label: 'Losses compared',
		detail:
			'A pipeline: thirteen loss and advantage variants from the same starting point, and a report that compares them.',
		recipe: 'algorithms.recipe.json',
	},
	{
		id: 'curriculum',
		label: 'Curriculum',
		detail: 'A pipeline: problems chosen by pass rate, compared with uniform sampling.',
		recipe: 'curriculum.recipe.json',
	},
	{
		id: 'no-labels',
		label: 'Training without labels',
		detail: 'A pipeline: majority votes as the reward (TTRL), compared with labels and with a control.',
		recipe: 'no-labels.recipe.json',
	},
	{
		id: 'environments',
		label: 'Tool use',
		detail: 'Two environments, number guessing and a calculator, in which a small model learns to call tools.',
		recipe: 'guess.recipe.json',
	},
];

/** Template files that tools would act on if they had their real names in this package. */
const realNames: Readonly<Record<string, string>> = { gitignore: '.gitignore' };

export interface TemplateFile {
	readonly source: string;
	/** Path relative to the project, with `/` as the separator. */
	readonly path: string;
}

/** Type declarations for templates with TypeScript reward files, shared by all of them. */
const types = { folder: 'rewards/', name: 'reasoning-lab.d.ts' };

/** MCP server configuration for agents that read `.mcp.json`. Part of every template. */
const agents = { folder: 'mcp', name: 'mcp.json', path: '.mcp.json' };

/** Returns the files of a template; `templates` is media/templates. Fails with `missing` if there are none. */
export async function templateFiles(templates: string, id: ProjectTemplate['id']): Promise<TemplateFile[]> {
	const files: TemplateFile[] = [];
	const visit = async (folder: string, prefix: string): Promise<void> => {
		for (const entry of await readdir(folder, { withFileTypes: true })) {
			const { name } = entry;
			const source = join(folder, name);
			if (entry.isDirectory()) await visit(source, `${prefix}${name}/`);
			else files.push({ source, path: `${prefix}${realNames[name] ?? name}` });
		}
	};
	await visit(join(templates, id), '').catch((error: unknown) => {
		throw Failure.from(error, `Cannot read the template "${id}"`);
	});
	if (files.length === 0) throw new Failure('missing', `The template "${id}" has no files.`);
	if (files.some(({ path }) => path.startsWith(types.folder) && path.endsWith('.ts'))) {
		files.push({ source: join(templates, '..', 'types', types.name), path: `${types.folder}${types.name}` });
	}
	files.push({ source: join(templates, '..', agents.folder, agents.name), path: agents.path });
	return files;
}

/** What to do with files that already exist. */
export type OnConflict = 'keep' | 'replace' | 'fail';

/** Returns the template files that already exist in a folder. */
export async function conflictsOf(files: readonly TemplateFile[], target: string): Promise<string[]> {
	const conflicts: string[] = [];
	for (const { path } of files) if (await isThere(join(target, path))) conflicts.push(path);
	return conflicts;
}

/**
 * Copies a template to a folder. Existing files are kept, replaced, or reported as a failure (`exists`), depending on
 * the option.
 */
export async function copyTemplate(
	files: readonly TemplateFile[],
	target: string,
	onConflict: OnConflict,
): Promise<void> {
	for (const file of files) {
		const to = join(target, file.path);
		try {
			await mkdir(dirname(to), { recursive: true });
			await copyFile(file.source, to, onConflict === 'replace' ? 0 : constants.COPYFILE_EXCL);
		} catch (error) {
			const there = (error as NodeJS.ErrnoException).code === 'EEXIST' && (await isThere(to));
			if (there && onConflict === 'keep') continue;
			if (there) throw new Failure('exists', `${to} already exists.`, 'Choose another folder.', { cause: error });
			throw Failure.from(error, `Cannot write ${to}`);
		}
	}
}

async function isThere(path: string): Promise<boolean> {
	return (await lstat(path).catch(() => null)) !== null;
}
