# frozen_string_literal: true

# Makes docs/images/top.svg and top.txt: `skep top` in a terminal (tmux's), on a swarm of four nodes
# that read from a real Kafka broker. One has just been killed, and a message fails.
#
#   SKEP_KAFKA_BROKER=… bundle exec ruby docs/images/top.rb
require "cgi"
require "fileutils"
require_relative "../../test/scenario/kafka/scenario"
require_relative "../../test/scenario/support/terminal"
require_relative "waves"

SWARM = <<~'RUBY'
  require "skep/kafka"

  Skep.swarm "billing", nodes: 4 do |swarm|
    swarm.preload { $prices = Array.new(400_000) { |id| "price of #{id}" } }
    source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": ENV.fetch("KAFKA_BROKERS") },
                                     group: "billing", topics: %w[orders refunds],
                                     max_attempts: 100, dead_letter_topic: "orders.dead")
    swarm.work(source) do |batch, node|
      batch.each do |message|
        { total: 12 }.fetch(:customer_id) if message.payload == "bad"
        node.wait(0.001)
      end
    end
  end
RUBY

# A terminal's screen, as `tmux capture-pane -e` prints it, as SVG.
class Picture
  COLOURS = { 31 => "#ff7b72", 32 => "#7ee787", 33 => "#e3b341", 34 => "#79c0ff",
              36 => "#a5d6ff" }.freeze
  PAPER, INK = "#0d1117", "#c9d1d9"
  WIDE, HIGH = 8.43, 18
  SPACE = "\u00A0" # browsers draw several plain ones as one

  def initialize(text, columns)
    @lines = text.lines(chomp: true)
    @columns = columns
  end

  def to_s
    wide, high = (@columns * WIDE).ceil + 32, (@lines.size * HIGH) + 32
    <<~SVG
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 #{wide} #{high}" width="#{wide}" height="#{high}">
      <rect width="100%" height="100%" rx="8" fill="#{PAPER}"/>
      <g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="14" fill="#{INK}">
      #{@lines.each_with_index.map { |line, row| line_of(line, row) }.join("\n")}
      </g>
      </svg>
    SVG
  end

  private

  def line_of(line, row)
    column = 0
    @looks = [] if row.zero? # they last until they are taken back
    line.split(/(\e\[[\d;]*m)/).filter_map do |piece|
      next paint(piece) if piece.start_with?("\e[")
      next if piece.empty?

      drawn(piece, column, row).tap { column += piece.size }
    end.join
  end

  def paint(piece)
    piece[/[\d;]+/].to_s.split(";").push(*("0" if piece == "\e[m")).map(&:to_i).each do |code|
      @looks = [] if code.zero?
      @looks -= COLOURS.keys if code == 39
      @looks << code unless [0, 39, 49].include?(code)
    end
    nil
  end

  def drawn(text, column, row)
    x, width = [(column * WIDE) + 16, text.size * WIDE].map { |length| length.round(1) }
    y = (row * HIGH) + 16
    ink = COLOURS[(@looks & COLOURS.keys).last] || INK
    back, ink = ink, PAPER if @looks.include?(7)
    [(%(<rect x="#{x}" y="#{y}" width="#{width}" height="#{HIGH}" fill="#{back}"/>) if back),
     %(<text x="#{x}" y="#{y + 13}" textLength="#{width}" fill="#{ink}"),
     (%( font-weight="bold") if @looks.include?(1)), (%( opacity="0.6") if @looks.include?(2)),
     ">#{CGI.escapeHTML(text).tr(" ", SPACE)}</text>"].compact.join
  end
end

def top(swarm, rows: 22, columns: 100)
  env = { "SKEP_RUN_DIR" => swarm.directory, "TERM" => "screen-256color", "LC_ALL" => "C.UTF-8" }
  Terminal.new(directory, rows:, columns:, env:).tap do |terminal|
    terminal.type("#{RbConfig.ruby} #{swarm.class::SKEP} top", "Enter")
  end
end

def captured(swarm, terminal, waves)
  terminal.await("rates") { |lines| lines.any?(/cpu [1-9]/) }
  swarm.follow_for(10) # until the lag of the start is gone
  swarm.kill(swarm.status("billing")["nodes"][1]["pid"])
  waves << "bad"
  terminal.await("its successor") { |lines| lines.any?(/^[> ][! ]1 .* ready .* SIGKILL/) }
  terminal.await("what fails") { |lines| lines.any?(/^! orders.*swarm.rb/) }
  swarm.follow_for(4) # figures of some seconds
  terminal.type("g")
  swarm.follow_for(0.5)
  [terminal.lines, terminal.painted]
end

KafkaScenario.play do
  topics = { "orders" => 8, "refunds" => 4, "orders.dead" => 1 }
  topics.each { |name, partitions| topic(name, partitions) }
  swarm = run_swarm(SWARM, env: { "KAFKA_BROKERS" => broker.address })
  await_assignment(12, swarm, nodes: 4)
  waves = Waves.new(broker.address)
  at_end { waves.close }
  terminal = top(swarm)
  at_end { terminal.close }
  lines, painted = captured(swarm, terminal, waves)
  File.write("#{__dir__}/top.txt", "#{lines.join("\n").rstrip}\n")
  File.write("#{__dir__}/top.svg", Picture.new(painted, 100).to_s)
  must("stop with 0") { swarm.stop.exitstatus == 0 }
end
