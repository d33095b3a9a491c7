import { candidateProbes } from './candidateProbes.ts';
import { characterProbes } from './characterProbes.ts';
import { codeProbes } from './codeProbes.ts';
import { emptyProbes } from './emptyProbes.ts';
import { evasionProbes } from './evasionProbes.ts';
import { goldProbes } from './goldProbes.ts';
import { judgeProbes } from './judgeProbes.ts';
import { lengthProbes } from './lengthProbes.ts';
import { markupProbes } from './markupProbes.ts';
import { numberProbes } from './numberProbes.ts';
import type { Probe } from './probe.ts';
import { promptProbes } from './promptProbes.ts';
import { tagProbes } from './tagProbes.ts';

/** Every probe of the audit, in the order in which they are tried and listed. */
export const probes: readonly Probe[] = [
	...emptyProbes,
	...evasionProbes,
	...candidateProbes,
	...promptProbes,
	...tagProbes,
	...lengthProbes,
	...characterProbes,
	...numberProbes,
	...markupProbes,
	...judgeProbes,
	...goldProbes,
	...codeProbes,
];
