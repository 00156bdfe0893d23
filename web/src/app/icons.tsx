import type { ReactNode } from "react";

/** Drawn on a grid of 16, with lines of 1.5. Decoration only: what stands beside them says the same in words. */
function draw(shapes: ReactNode) {
  return function Icon({ size = 16 }: { size?: number }) {
    return (
      <svg
        width={size}
        height={size}
        viewBox="0 0 16 16"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
        strokeLinecap="round"
        strokeLinejoin="round"
        aria-hidden="true"
        focusable="false"
      >
        {shapes}
      </svg>
    );
  };
}

export const SearchIcon = draw(
  <>
    <circle cx="7" cy="7" r="4.25" />
    <path d="m10.2 10.2 3.3 3.3" />
  </>,
);
export const ExpandIcon = draw(<path d="M6 2.5H2.5V6M10 2.5h3.5V6M13.5 10v3.5H10M2.5 10v3.5H6" />);
export const SunIcon = draw(
  <>
    <circle cx="8" cy="8" r="2.75" />
    <path d="M8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M12.6 3.4l-.7.7M4.1 11.9l-.7.7" />
  </>,
);
export const MoonIcon = draw(<path d="M13.2 9.6A5.6 5.6 0 0 1 6.4 2.8a5.6 5.6 0 1 0 6.8 6.8Z" />);
export const ScreenIcon = draw(
  <>
    <rect x="2" y="3" width="12" height="8" rx="1.25" />
    <path d="M5.75 13.5h4.5" />
  </>,
);
export const UserIcon = draw(
  <>
    <circle cx="8" cy="5.5" r="2.5" />
    <path d="M3.2 13.2a4.9 4.9 0 0 1 9.6 0" />
  </>,
);
export const PlusIcon = draw(<path d="M8 3.25v9.5M3.25 8h9.5" />);
export const CrossIcon = draw(<path d="m4 4 8 8M12 4l-8 8" />);
export const CheckIcon = draw(<path d="m3.25 8.5 3 3 6.5-7" />);
export const PlayIcon = draw(<path d="M5 3.2v9.6L12.6 8 5 3.2Z" />);
export const StopIcon = draw(<rect x="4" y="4" width="8" height="8" rx="1" />);
export const PauseIcon = draw(<path d="M5.5 3.5v9M10.5 3.5v9" strokeWidth="2" />);
export const LinkIcon = draw(
  <path d="M6.75 9.25a2.6 2.6 0 0 0 3.7 0l2.3-2.3a2.6 2.6 0 0 0-3.7-3.7l-.8.8M9.25 6.75a2.6 2.6 0 0 0-3.7 0l-2.3 2.3a2.6 2.6 0 0 0 3.7 3.7l.8-.8" />,
);
export const RepeatIcon = draw(
  <path d="M2.75 8a5.25 5.25 0 0 1 9-3.7L13.25 6M13.25 2.75V6H10M13.25 8a5.25 5.25 0 0 1-9 3.7L2.75 10M2.75 13.25V10H6" />,
);
export const DownloadIcon = draw(<path d="M8 2.5v7.5M4.75 7 8 10.25 11.25 7M2.75 13.25h10.5" />);
export const UploadIcon = draw(<path d="M8 10.5V3M4.75 6 8 2.75 11.25 6M2.75 13.25h10.5" />);
export const FileIcon = draw(
  <path d="M9 1.75H4.25A1.25 1.25 0 0 0 3 3v10a1.25 1.25 0 0 0 1.25 1.25h7.5A1.25 1.25 0 0 0 13 13V5.75L9 1.75Zm0 0v4h4" />,
);
export const ExternalIcon = draw(
  <path d="M9.5 2.75h3.75V6.5M13 3 7.5 8.5M11.5 9.5v3a.75.75 0 0 1-.75.75H3.5a.75.75 0 0 1-.75-.75V5.25a.75.75 0 0 1 .75-.75h3" />,
);
export const CopyIcon = draw(
  <>
    <rect x="5.5" y="5.5" width="8" height="8" rx="1.25" />
    <path d="M10.5 5.5V3.75A1.25 1.25 0 0 0 9.25 2.5h-5.5A1.25 1.25 0 0 0 2.5 3.75v5.5a1.25 1.25 0 0 0 1.25 1.25H5.5" />
  </>,
);
export const ChevronDownIcon = draw(<path d="m4 6 4 4 4-4" />);
export const ChevronRightIcon = draw(<path d="m6 4 4 4-4 4" />);
export const AlertIcon = draw(
  <>
    <circle cx="8" cy="8" r="6" />
    <path d="M8 5v3.5M8 11v.01" />
  </>,
);
export const TrashIcon = draw(
  <path d="M2.75 4.25h10.5M6 4V2.75h4V4M4.25 4.25l.6 8.4c.05.5.4.85.9.85h4.5c.5 0 .85-.35.9-.85l.6-8.4" />,
);
export const ClockIcon = draw(
  <>
    <circle cx="8" cy="8" r="6" />
    <path d="M8 4.75V8l2.25 1.5" />
  </>,
);
export const DotsIcon = draw(<path d="M3.5 8h.01M8 8h.01M12.5 8h.01" strokeWidth="2" />);
export const WrapIcon = draw(
  <path d="M2.5 4h11M2.5 8h8.75a2.1 2.1 0 0 1 0 4.2H8.5M10 10.6l-1.6 1.6L10 13.8M2.5 12h3" />,
);
export const FollowIcon = draw(<path d="M2.5 3.5h11M2.5 7.5h4.5M2.5 11.5h4.5M11.25 7v6M8.75 10.5l2.5 2.5 2.5-2.5" />);
export const ArrowDownIcon = draw(<path d="M8 3v10M4 9l4 4 4-4" />);
export const ArrowUpIcon = draw(<path d="M8 13V3M4 7l4-4 4 4" />);
