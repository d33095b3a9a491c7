import { parseDocument } from 'yaml';
import { yamlAliases } from '../../../base/decodingLimits.ts';

/**
 * One YAML document as plain data. Aliases that would grow beyond bounds are a fault; tags make no objects.
 * Fails with an Error in words.
 */
export function parseYaml(text: string): unknown {
	const document = parseDocument(text, { schema: 'core', uniqueKeys: false, logLevel: 'silent', prettyErrors: false });
	const [error] = document.errors;
	if (error !== undefined) throw new Error(error.message.split('\n', 1)[0]);
	return document.toJS({ maxAliasCount: yamlAliases });
}
