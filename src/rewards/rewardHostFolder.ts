import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Where the host programs lie: the folder of the bundle that this is part of, or src/rewards when it runs from source. For
 * ES modules only; the extension host names its dist folder itself.
 */
export function rewardHostFolder(): string {
	return dirname(fileURLToPath(import.meta.url));
}
