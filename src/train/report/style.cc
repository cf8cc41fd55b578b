// The style of the report's page. Colour-blind readers can tell the colours apart (after Okabe and
// Ito), on white and on dark.
#include "train/report/style.h"

namespace yoke {

std::string_view ReportStyle() {
  return R"(
:root { color-scheme: light dark; --paper: #fbfbf9; --card: #ffffff; --ink: #1d2126; --soft: #667079; --line: #e3e5e1; --edge: #b9beba;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #a8579a; --c4: #8a6d00; --c5: #2a9ccb; --c6: #b5302a; --c7: #5b5f66; }
@media (prefers-color-scheme: dark) { :root { --paper: #15181c; --card: #1d2126; --ink: #e6e8ea; --soft: #98a1aa; --line: #2c3238; --edge: #545c64;
  --c0: #4aa8e0; --c1: #f08a3c; --c2: #35c79a; --c3: #d48cc8; --c4: #d9b93b; --c5: #7fd0ef; --c6: #ef7770; --c7: #aeb4bb; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 28px 20px 48px; }
h1 { font-size: 24px; line-height: 1.25; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 17px; margin: 36px 0 12px; }
.note { color: var(--soft); margin: 0; }
.key { display: flex; flex-wrap: wrap; gap: 6px 20px; margin: 18px 0 0; padding: 0; list-style: none; }
.key li { display: flex; align-items: center; gap: 8px; overflow-wrap: anywhere; }
.key svg { width: 26px; height: 10px; flex: none; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); gap: 12px; margin: 20px 0 0; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 12px 14px; }
.tile b { display: block; font-size: 22px; font-weight: 600; font-variant-numeric: tabular-nums; line-height: 1.3; }
.tile span { color: var(--soft); font-size: 13px; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 400px), 1fr)); gap: 16px; margin-top: 20px; }
figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 10px 10px 4px; break-inside: avoid; }
figure svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font: 12.5px system-ui, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif; font-variant-numeric: tabular-nums; }
svg .title { fill: var(--ink); font-weight: 600; font-size: 14px; }
.grid { stroke: var(--line); fill: none; } .axis { stroke: var(--edge); fill: none; }
.line { fill: none; stroke: currentColor; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.faint .line { stroke-width: 1.4; stroke-dasharray: 5 4; opacity: .8; }
.dot { fill: currentColor; stroke: var(--card); stroke-width: .8; } .hit { fill: transparent; } .faint .dot { fill: var(--card); stroke: currentColor; stroke-width: 1.2; }
.dot:hover { stroke: var(--ink); stroke-width: 1.6; }
.c0 { color: var(--c0); } .c1 { color: var(--c1); } .c2 { color: var(--c2); } .c3 { color: var(--c3); }
.c4 { color: var(--c4); } .c5 { color: var(--c5); } .c6 { color: var(--c6); } .c7 { color: var(--c7); }
.lanes { margin-top: 16px; overflow-x: auto; } .lanes svg { min-width: 720px; } .after { margin-top: 16px; } .patterns { position: absolute; }
.computing { fill: var(--c0); } .waiting { fill: url(#hatching); } .sending { fill: var(--c1); } .step { stroke: var(--ink); stroke-width: 1.3; fill: none; }
#hatching path { fill: var(--line); } #hatching .stripe { stroke: var(--edge); stroke-width: 1.3; }
.wide { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { padding: 7px 14px; text-align: left; vertical-align: top; border-top: 1px solid var(--line); }
tr:first-child > * { border-top: 0; }
thead th { color: var(--soft); font-weight: 500; white-space: nowrap; }
tbody th { font-weight: 500; overflow-wrap: anywhere; min-width: 9em; }
.number { text-align: right; white-space: nowrap; }
td.best { font-weight: 700; }
i.swatch { display: inline-block; width: 10px; height: 10px; border-radius: 3px; background: currentColor; margin-right: 8px; }
code, pre { font: 13px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 12px 14px; overflow-x: auto; margin: 8px 0; }
details { margin-top: 12px; } summary { cursor: pointer; color: var(--soft); }
footer { margin-top: 40px; color: var(--soft); font-size: 13px; }
@media (max-width: 520px) { main { padding: 18px 10px 32px; } figure { padding: 6px 2px 0; } svg text { font-size: 13.5px; } svg .title { font-size: 15px; } }
@media print { :root { --paper: #fff; --card: #fff; --ink: #000; --soft: #444; --line: #ddd; --edge: #888;
  --c0: #0072b2; --c1: #d55e00; --c2: #009e73; --c3: #a8579a; --c4: #8a6d00; --c5: #2a9ccb; --c6: #b5302a; --c7: #5b5f66; }
  main { max-width: none; padding: 0; } .charts { grid-template-columns: 1fr 1fr; } details { display: none; } .wide { overflow: visible; } }
)";
}

}  // namespace yoke
