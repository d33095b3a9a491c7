import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { test } from 'node:test';
import {
	commandIds,
	containerId,
	contextKeys,
	extensionId,
	itemFlags,
	panelTypes,
	runFileType,
	settingIds,
	viewIds,
	viewTypes,
} from '../../../src/extension/ids.ts';

interface Menu {
	readonly command: string;
	readonly when?: string;
}
interface WalkthroughStep {
	readonly id: string;
	readonly description: string;
	readonly completionEvents: string[];
	readonly media: { image: Record<string, string>; altText: string } | { markdown: string };
}
interface Manifest {
	readonly name: string;
	readonly publisher: string;
	readonly activationEvents: string[];
	readonly capabilities: { readonly untrustedWorkspaces: { readonly restrictedConfigurations: string[] } };
	readonly contributes: {
		readonly customEditors: { viewType: string; priority: string; selector: { filenamePattern: string }[] }[];
		readonly commands: { command: string; title: string; category: string; enablement?: string }[];
		readonly menus: Record<string, Menu[]>;
		readonly keybindings: Menu[];
		readonly views: Record<string, { id: string; when?: string }[]>;
		readonly viewsContainers: { activitybar: { id: string; icon: string }[] };
		readonly viewsWelcome: { view: string; contents: string; when?: string }[];
		readonly walkthroughs: { steps: WalkthroughStep[] }[];
		readonly configuration: { properties: Record<string, Record<string, unknown>> };
	};
}

const root = new URL('../../../', import.meta.url);
const manifest = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as Manifest;
const { contributes } = manifest;
const commands = new Set<string>(Object.values(commandIds));

function sorted(values: Iterable<string>): string[] {
	return [...values].sort();
}

function walkthroughSteps(): WalkthroughStep[] {
	return contributes.walkthroughs.flatMap(({ steps }) => steps);
}

function conditions(): string[] {
	return [
		...contributes.commands.map((command) => command.enablement),
		...Object.values(contributes.menus).flatMap((menu) => menu.map((item) => item.when)),
		...contributes.keybindings.map((binding) => binding.when),
		...contributes.viewsWelcome.map((welcome) => welcome.when),
		...Object.values(contributes.views).flatMap((views) => views.map((view) => view.when)),
		...walkthroughSteps().flatMap(({ completionEvents }) => completionEvents),
	].filter((condition) => condition !== undefined);
}

test('package.json and ids.ts declare the same commands, settings, views and container', () => {
	assert.equal(`${manifest.publisher}.${manifest.name}`, extensionId);
	assert.deepEqual(sorted(contributes.commands.map((command) => command.command)), sorted(commands));
	assert.deepEqual(sorted(Object.keys(contributes.configuration.properties)), sorted(Object.values(settingIds)));
	assert.deepEqual(
		sorted(Object.values(contributes.views).flatMap((views) => views.map((view) => view.id))),
		sorted(Object.values(viewIds)),
	);
	assert.deepEqual(
		contributes.customEditors.map(({ viewType }) => viewType),
		[...Object.values(viewTypes), runFileType],
	);
	// Text files open as text unless the user chooses otherwise. These files are binary.
	const unasked = contributes.customEditors.filter(({ priority }) => priority !== 'option');
	assert.deepEqual(
		unasked.flatMap(({ selector }) => selector.map(({ filenamePattern }) => filenamePattern)),
		[
			...['*.parquet', '*.arrow', 'events.out.tfevents.*'],
			...['run-*.wandb', '**/rollout_data/*.pt', '**/traces/stream/*.jsonl.zst'],
			...[
				'**/completions/completions_*.parquet',
				'**/trajectories/*/*.parquet',
				'*.eval',
				'**/trackio/*.db',
				'mlflow.db',
			],
		],
	);
	assert.deepEqual(Object.keys(contributes.views), [containerId, 'explorer']);
	assert.deepEqual(
		contributes.viewsContainers.activitybar.map((container) => container.id),
		[containerId],
	);
});

test('every command has the category and is referenced only by its declared id', () => {
	for (const command of contributes.commands) assert.equal(command.category, 'Reasoning Lab', command.command);
	const used = [
		...Object.values(contributes.menus).flatMap((menu) => menu.map((item) => item.command)),
		...contributes.keybindings.map((binding) => binding.command),
		...[
			...contributes.viewsWelcome.map(({ contents }) => contents),
			...walkthroughSteps().map(({ description }) => description),
		].flatMap((text) => [...text.matchAll(/command:(reasoningLab\.[\w.]+)/g)].map((match) => match[1] ?? '')),
	];
	for (const id of used) assert.ok(commands.has(id), id);
});

test('when clauses use declared context keys, views and item flags, and every key is used', () => {
	const known = new Set<string>([
		...Object.values(contextKeys),
		...Object.values(viewIds),
		...Object.values(panelTypes),
	]);
	const used = new Set<string>();
	for (const condition of conditions()) {
		for (const [name] of condition.matchAll(/reasoningLab\.[\w.]+/g)) {
			assert.ok(known.has(name), `${name} in ${condition}`);
			used.add(name);
		}
		for (const [, flag] of condition.matchAll(/viewItem =~ \/\\b(\w+)\\b\//g)) {
			assert.ok((itemFlags as readonly string[]).includes(flag ?? ''), condition);
		}
	}
	for (const key of Object.values(contextKeys)) assert.ok(used.has(key), `${key} is set, but no condition uses it`);
});

test('every step of the walkthrough has pictures for all themes or text, and is completed by a context key', () => {
	const steps = walkthroughSteps();
	assert.equal(new Set(steps.map(({ id }) => id)).size, steps.length);
	for (const { id, media, completionEvents, description } of steps) {
		// Walkthroughs show other Markdown syntax literally.
		assert.doesNotMatch(description, /(?<!\*)\*(?!\*)|(?<!`)`(?!`)/, id);
		if ('markdown' in media) {
			assert.ok(statSync(new URL(media.markdown, root)).size > 100, id);
		} else {
			for (const path of Object.values(media.image)) {
				const { size } = statSync(new URL(path, root));
				assert.ok(size > 10_000 && size < 250_000, `${path}: ${size} bytes`);
			}
			assert.deepEqual(Object.keys(media.image), ['dark', 'light', 'hc', 'hcLight'], id);
			assert.ok(media.altText.length > 20, id);
		}
		// A click on a button does not complete a step: the button's action has to happen.
		for (const event of completionEvents) assert.match(event, /^onContext:/, id);
	}
});

test('recipe actions are also available in remote windows, where recipes have a different scheme', () => {
	for (const menu of ['editor/title', 'explorer/context']) {
		const start = contributes.menus[menu]?.find((item) => item.command === commandIds.startRun);
		const scheme = /resourceScheme =~ \/(.+?)\/(?: |$)/.exec(start?.when ?? '')?.[1];
		assert.ok(scheme, `${menu}: ${start?.when}`);
		for (const name of ['file', 'vscode-remote']) assert.match(name, new RegExp(scheme));
		for (const name of ['git', 'untitled', 'vscode-vfs']) assert.doesNotMatch(name, new RegExp(scheme));
	}
});

test('every setting has a description and a scope, and settings that name programs are restricted', () => {
	for (const [id, property] of Object.entries(contributes.configuration.properties)) {
		assert.ok(property.description ?? property.markdownDescription, id);
		assert.ok(property.scope, id);
		if (property.scope === 'machine-overridable') {
			assert.ok(manifest.capabilities.untrustedWorkspaces.restrictedConfigurations.includes(id), id);
		}
	}
});

test('restoring a panel after a reload activates the extension, and nothing activates it on every startup', () => {
	for (const type of Object.values(panelTypes)) assert.ok(manifest.activationEvents.includes(`onWebviewPanel:${type}`));
	for (const event of manifest.activationEvents) {
		assert.match(event, /^(onUri$|(workspaceContains|onLanguage|onWebviewPanel):)/);
	}
	// VS Code abandons the `workspaceContains` search after a few seconds, for example in a large folder, and then
	// activates nothing. Opening a recipe or a reward must therefore activate the extension.
	for (const language of ['jsonc', 'javascript', 'python', 'typescript']) {
		assert.ok(manifest.activationEvents.includes(`onLanguage:${language}`), language);
	}
});

test('icons exist', () => {
	for (const container of contributes.viewsContainers.activitybar) {
		assert.match(readFileSync(new URL(container.icon, root), 'utf8'), /currentColor/);
	}
});
