/** Generates the settings tables in docs/settings.md from package.json, one per area. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './paths.ts';

interface Setting {
	readonly default: unknown;
	readonly description?: string;
	readonly markdownDescription?: string;
	readonly enum?: readonly string[];
	readonly enumDescriptions?: readonly string[];
	readonly markdownEnumDescriptions?: readonly string[];
}

/** Heading -> second part of the setting ids. */
const areas: Readonly<Record<string, readonly string[]>> = {
	Runs: ['node', 'device', 'pipelines', 'statusBar', 'notifications', 'diagnosis', 'feedback'],
	Rewards: ['rewards', 'sandbox'],
	Search: ['searches', 'policies', 'research'],
	'PyTorch engine': ['pytorch'],
	Agents: ['mcp'],
};

const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

function meaning(setting: Setting): string {
	const descriptions = setting.markdownEnumDescriptions ?? setting.enumDescriptions ?? [];
	const values = (setting.enum ?? []).map((value, i) => `\`${value}\`: ${descriptions[i] ?? ''}`);
	return [setting.markdownDescription ?? setting.description ?? '', ...values].join(' ').trim();
}

function defaultOf({ default: value }: Setting): string {
	if (value === '') return '';
	return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}

export function settingsTables(): Record<string, string> {
	const { contributes } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
		contributes: { configuration: { properties: Record<string, Setting> } };
	};
	const settings = Object.entries(contributes.configuration.properties);
	const known = Object.values(areas).flat();
	const lost = settings.filter(([id]) => !known.includes(id.split('.')[1] as string));
	if (lost.length > 0) throw new Error(`${lost.map(([id]) => id).join(', ')} does not belong to any area.`);
	const sections = Object.entries(areas).map(([heading, names]) => {
		const rows = settings
			.filter(([id]) => names.includes(id.split('.')[1] as string))
			.map(([id, setting]) => `| \`${id}\` | ${cell(defaultOf(setting))} | ${cell(meaning(setting))} |`);
		return [`## ${heading}`, '', '| setting | default | meaning |', '|---|---|---|', ...rows].join('\n');
	});
	return { settings: sections.join('\n\n') };
}
