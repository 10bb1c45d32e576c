# frozen_string_literal: true

require "fileutils"
require "securerandom"
require "tmpdir"

# Makes the scenarios' brokers start faster: of the three Java programs that a new broker takes, the
# two that format its directory are saved, as a formatted one is copied. The third mostly loads and
# compiles Kafka's classes: an archive of these classes (Java's class data sharing) and the C1
# compiler alone reduce its processor time to 40%.
#
#   BrokerTemplate.during(program) { … }   # for brokers that are started meanwhile, in any process
#   BrokerTemplate.copy(directory, port)   # before the first start in an empty directory
#
# One broker starts and stops to make both. If that fails, brokers start without them.
module BrokerTemplate
  QUICK = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:+UseTransparentHugePages"
  JAVA_OPTIONS = "JAVA_TOOL_OPTIONS" # read by every JVM
  FORMATTED = "SKEP_SCENARIO_FORMATTED" # the directory that is copied
  private_constant :QUICK, :JAVA_OPTIONS, :FORMATTED

  class << self
    def during(program)
      before = ENV.fetch(JAVA_OPTIONS, nil)
      return yield if before || program.nil?

      Dir.mktmpdir("skep-template") do |directory|
        broker, archive = %w[broker kafka.jsa].map { |name| File.join(directory, name) }
        make(program, broker, archive)
        quickest = "#{QUICK} -XX:SharedArchiveFile=#{archive}"
        ENV[JAVA_OPTIONS] = File.exist?(archive) ? quickest : QUICK
        ENV[FORMATTED] = broker
        yield
      end
    ensure
      ENV[JAVA_OPTIONS] = before
      ENV.delete(FORMATTED)
    end

    def copy(directory, port)
      formatted = ENV.fetch(FORMATTED, nil)
      return unless formatted && File.exist?("#{formatted}/data/bootstrap.checkpoint")

      FileUtils.mkdir_p("#{directory}/data")
      FileUtils.cp("#{formatted}/data/bootstrap.checkpoint", "#{directory}/data")
      ids = File.read("#{formatted}/data/meta.properties").gsub(/^(cluster|directory)\.id=.*/) do
        "#{$1}.id=#{SecureRandom.urlsafe_base64(16)}"
      end
      File.write("#{directory}/data/meta.properties", ids)
      File.write("#{directory}/server.properties",
                 properties(File.read("#{formatted}/server.properties"), directory, port))
    end

    private

    def make(program, broker, archive)
      Dir.mkdir(broker)
      port = Random.rand(10_000..32_000).to_s
      options = { JAVA_OPTIONS => "#{QUICK} -XX:ArchiveClassesAtExit=#{archive}" }
      log = { out: "#{broker}.log", err: %i[child out] }
      system(options, program, "start", broker, port, log)
      system(program, "stop", broker, log) # the JVM writes the archive at its exit
    end

    # The listener's port, and the controller's, which is the next one.
    def properties(text, directory, port)
      listener = Integer(text[/^listeners=PLAINTEXT:.*?:(\d+),/, 1])
      text.gsub(/:(#{listener}|#{listener + 1})\b/) { ":#{Integer($1) - listener + port}" }
          .sub(/^log\.dirs=.*/) { "log.dirs=#{directory}/data" }
    end
  end
end
