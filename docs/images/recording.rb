# frozen_string_literal: true

require "cgi"

# Lines of a terminal with the moments at which they appeared, as an SVG that plays them again and
# again. A long wait between two lines is shortened. Where motion isn't wanted, or styles aren't
# supported, all lines are there from the start.
#
#   recording = Recording.new("what it shows", columns: 100)
#   recording.title("a heading")
#   recording.line("text", at: 1.25, ink: :warn)   # at: seconds since the heading
#   recording.to_s                                 # => "<svg …"
class Recording
  INKS = { title: "#79c0ff", command: "#c9d1d9", info: "#c9d1d9", warn: "#e3b341", error: "#ff7b72",
           result: "#7ee787", dim: "#8b949e" }.freeze
  PAPER = "#0d1117"
  WIDE, HIGH, MARGIN = 8.43, 18, 16
  WAIT = 0.5..2.5 # seconds between two lines
  HOLD = 8 # seconds after the last line
  SPACE = "\u00A0" # browsers draw several plain ones as one
  Row = Struct.new(:text, :at, :ink)
  private_constant :INKS, :PAPER, :WIDE, :HIGH, :MARGIN, :WAIT, :HOLD, :SPACE, :Row

  def initialize(what, columns:)
    @what, @columns = what, columns
    @rows = []
  end

  def title(text)
    @rows << nil if @rows.any? # an empty line
    @rows << Row.new(text, 0.0, :title)
  end

  def line(text, at:, ink:)
    raise ArgumentError, "longer than #{@columns}: #{text}" if text.size > @columns

    @rows << Row.new(text, at, ink)
  end

  def to_s
    wide, high = (@columns * WIDE).ceil + (2 * MARGIN), (@rows.size * HIGH) + (2 * MARGIN)
    <<~SVG
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 #{wide} #{high}" width="#{wide}" height="#{high}" role="img">
      <title>#{CGI.escapeHTML(@what)}</title>
      <style>
      @media (prefers-reduced-motion: no-preference) {
      #{moments.each_with_index.filter_map { |second, row| second && appears(row, second) }.join("\n")}
      }
      </style>
      <rect width="100%" height="100%" rx="8" fill="#{PAPER}"/>
      <g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="14">
      #{@rows.each_with_index.filter_map { |line, row| line && drawn(line, row) }.join("\n")}
      </g>
      </svg>
    SVG
  end

  private

  # Returns the second of the film at which each row appears; nil for an empty one.
  def moments
    @moments ||= begin
      second, before = 0.0, 0.0
      @rows.map do |row|
        next unless row

        second += (row.at - before).clamp(WAIT)
        before = row.at
        second
      end
    end
  end

  def appears(row, second)
    whole = moments.compact.last + HOLD
    share = (100 * second / whole).round(2)
    "@keyframes r#{row} { 0% { opacity: 0 } #{share}%, 100% { opacity: 1 } }\n" \
      "#r#{row} { animation: r#{row} #{whole.round(1)}s step-end infinite }"
  end

  def drawn(row, number)
    bold = %( font-weight="bold") if row.ink == :title
    %(<text id="r#{number}" x="#{MARGIN}" y="#{(number * HIGH) + MARGIN + 13}" ) +
      %(textLength="#{(row.text.size * WIDE).round(1)}" fill="#{INKS.fetch(row.ink)}"#{bold}>) +
      "#{CGI.escapeHTML(row.text).tr(" ", SPACE)}</text>"
  end
end
